"""Resources, prompts and completions of all open servers, under names that tell toolbox and server."""
