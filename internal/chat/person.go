package chat

// Person names somebody in a workspace.
type Person struct {
	Team string `json:"team"`
	User string `json:"user"` // id
}
