"""Reading a conversation: where it stands, what a message is to it, and which words the message leaves out."""
