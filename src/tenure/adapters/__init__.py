"""One folder for each vendor: its broker and its state. They know the ports, and not each other."""
