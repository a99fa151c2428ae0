"""Everything that the workbench keeps on disk, in directories that only the current user can access."""
