package chat

// Playbook is what a prompt says of a playbook, which the operator has written: its title, and when to use it, each on
// one line.
type Playbook struct{ Title, When string }
