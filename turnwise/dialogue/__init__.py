"""Understanding a conversation: its state, how a message relates to it, and which words the message leaves out."""
