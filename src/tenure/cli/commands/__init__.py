"""The commands of `tenure`, one file or folder each."""
