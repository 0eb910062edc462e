"""Every file in examples/ is run as it stands, by the commands that its docstring names."""
