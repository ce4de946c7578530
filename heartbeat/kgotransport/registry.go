package kgotransport

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"github.com/twmb/franz-go/pkg/kgo"
)

// registry finds the Transport of a client again. Both sides are weak: a
// Transport holds the dialer of its client, and the dialer may lead back to the
// client, so a strong value would keep both for ever.
var registry = struct {
	mu sync.Mutex
	m  map[weak.Pointer[kgo.Client]]weak.Pointer[Transport]
}{m: make(map[weak.Pointer[kgo.Client]]weak.Pointer[Transport])}

// New returns the Transport of cl. Calling it again with the same client returns
// the same Transport, as long as the client is open or somebody still holds the
// Transport. It opens no connection and starts no goroutine.
//
// Anybody may call New at any time, also after cl was closed: then Do works
// between [Transport.Acquire] and its release only.
func New(cl *kgo.Client) *Transport {
	key := weak.Make(cl)
	registry.mu.Lock()
	defer registry.mu.Unlock()
	old, known := registry.m[key]
	if t := old.Value(); t != nil {
		return t
	}
	t := newTransport(cl)
	registry.m[key] = weak.Make(t)
	if !known {
		runtime.AddCleanup(cl, unregister, key)
	}
	// The client's context holds the function, and so the Transport, until the
	// client is closed.
	context.AfterFunc(cl.Context(), t.userClientClosed)
	return t
}

func unregister(key weak.Pointer[kgo.Client]) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	delete(registry.m, key)
}
