# The image of a release: the wheel in dist, which `make package` builds, with the pinned dependencies.
FROM python:3.13-slim

RUN --mount=type=bind,source=dist,target=/dist \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    python -m pip install --no-cache-dir --root-user-action=ignore --constraint /constraints.txt /dist/*.whl \
    && useradd --create-home --uid 10001 workbench

USER workbench
WORKDIR /home/workbench

ENTRYPOINT ["mcp-workbench"]
