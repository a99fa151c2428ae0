"""Resources, prompts and completions of all open servers, under names that contain toolbox and server."""
