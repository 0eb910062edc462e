"""`tenure documents`: the commands. The command line of Tenure finds them by their name and imports none of them."""
