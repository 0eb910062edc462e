"""Tasks as users declare and call them: signature, call, context, schedule, and the message that a call becomes."""
