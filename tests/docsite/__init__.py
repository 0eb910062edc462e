"""The documents as a website: that it builds, that mistakes end the build, and what a reader sees in a browser."""
