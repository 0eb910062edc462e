"""Terminal formats, to show and to read: tables, colours, durations, moments, sizes."""
