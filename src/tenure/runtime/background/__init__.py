"""The jobs of a worker beside the path, mostly on a loop and thread of their own: heartbeat, sweeps, board, figures."""
