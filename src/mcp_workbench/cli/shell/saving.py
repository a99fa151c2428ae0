"""Writes the images, sounds and files of a result to disk, for `call --save`."""

from __future__ import annotations

import mimetypes
import re
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    Block = dict[str, Any]

NAME_CHARACTERS: Final = 100
_UNSAFE: Final = re.compile(r"[^\w.-]+")


class Attachment(msgspec.Struct, frozen=True):
    """An image, a sound or a file in a result."""

    kind: str
    """What it is: image, audio or file."""
    mime: str
    data: bytes
    uri: str = ""

    @property
    def description(self) -> str:
        """What it is and how large, in one line."""
        return " ".join(filter(None, (self.kind, self.mime, f"({len(self.data):,} bytes)", self.uri)))

    @property
    def extension(self) -> str:
        """The extension of a file of this type, with a dot."""
        return mimetypes.guess_extension(self.mime.partition(";")[0].strip()) or ".bin"


def attachment_of(block: Block) -> Attachment | None:
    """Return what a content block carries as Base64; None if it carries text, or nothing that can be read."""
    kind = block.get("type")
    resource = block.get("resource")
    if kind in ("image", "audio"):
        holder, key = block, "data"
    elif kind == "resource" and isinstance(resource, dict):
        holder, key, kind = resource, "blob", "file"
    else:
        return None
    encoded = holder.get(key)
    if not isinstance(encoded, str):
        return None
    try:
        data = b64decode(encoded, validate=True)
    except ValueError:
        return None
    return Attachment(str(kind), str(holder.get("mimeType") or ""), data, str(holder.get("uri") or ""))


def save(attachments: Sequence[Attachment], target: str) -> list[str]:
    """Write attachments, and return the path of each. Raises OSError. No file is overwritten.

    A target that is a directory, or ends with a slash, gets a new file for each. Any other target is the file
    to write; the second and further ones get a number.
    """
    path = Path(target).expanduser()
    if target.endswith("/") or path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return [_save_new(path, attachment) for attachment in attachments]
    paths = []
    for number, attachment in enumerate(attachments):
        file = path.with_stem(f"{path.stem}-{number + 1}") if number else path
        # A device such as /dev/stdout exists, and can be written to.
        with file.open("wb" if file.exists() and not file.is_file() else "xb") as stream:
            stream.write(attachment.data)
        paths.append(str(file))
    return paths


def _save_new(directory: Path, attachment: Attachment) -> str:
    """Write a file that does not exist yet, under the name in its address if that has one."""
    named = Path(_UNSAFE.sub("-", attachment.uri.rpartition("/")[2]).lstrip("."))
    stem = named.stem[:NAME_CHARACTERS] or attachment.kind
    extension = named.suffix[:NAME_CHARACTERS] or attachment.extension
    number = 0
    while True:
        number += 1
        suffix = f"-{number}" if number > 1 or not named.stem else ""
        try:
            with (directory / f"{stem}{suffix}{extension}").open("xb") as file:
                file.write(attachment.data)
        except FileExistsError:
            continue
        return file.name
