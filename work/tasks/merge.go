package tasks

// A Joint is parts that are being joined.
type Joint struct{}
