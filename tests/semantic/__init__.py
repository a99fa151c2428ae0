"""The extra `semantic`, as `make semantic` installs it. Without it, none of these tests is collected."""
