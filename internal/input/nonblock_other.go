//go:build !unix

package input

// nonblock: there are no named pipes in the file system.
const nonblock = 0
