"""Server entries in the words of other clients, and their translation into the words of the workbench."""
