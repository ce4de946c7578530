// Command peerworker runs Rollcall members for a harness that measures group
// members of several client libraries against one broker. It is driven by lines
// on standard input and answers with lines on standard output:
//
//	in:  start <id> key=value ...   (bootstrap, group, topic, client, instance, pollms)
//	in:  close <id>
//	in:  quit
//	out: ev <id> <unix_ns> ready|started|assigned|revoked|lost|closing|closed|error [data]
//
// The members of one group at one bootstrap address share one kgo client, as the
// members of one process do. The client ID is that of the first of them. With
// -separate every member has a client of its own, as if it were alone in its process:
// members of different clients know nothing of each other.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/member"
)

func main() {
	separate := flag.Bool("separate", false, "a kgo client for each member")
	flag.Parse()
	w := &worker{separate: *separate, out: bufio.NewWriter(os.Stdout), members: map[string]*running{}, clients: map[clientKey]*sharedClient{}}
	w.emit("-", "ready", version())
	w.serve(os.Stdin)
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/twmb/franz-go" {
				return "rollcall on franz-go " + d.Version
			}
		}
	}
	return "rollcall"
}

type clientKey struct{ bootstrap, group, member string }

type sharedClient struct {
	*kgo.Client
	users int
}

type running struct {
	m    *member.Consumer
	done chan error
	key  clientKey
}

type worker struct {
	separate bool

	outMu sync.Mutex
	out   *bufio.Writer

	mu      sync.Mutex
	members map[string]*running
	clients map[clientKey]*sharedClient
}

func (w *worker) emit(id, kind, data string) {
	at := time.Now().UnixNano()
	w.outMu.Lock()
	defer w.outMu.Unlock()
	fmt.Fprintf(w.out, "ev %s %d %s %s\n", id, at, kind, strings.ReplaceAll(data, "\n", " "))
	w.out.Flush()
}

func (w *worker) serve(in io.Reader) {
	for sc := bufio.NewScanner(in); sc.Scan(); {
		f := strings.Fields(sc.Text())
		switch {
		case len(f) == 1 && f[0] == "quit":
			return
		case len(f) >= 2 && f[0] == "start":
			w.emit(f[1], "started", "")
			if err := w.start(f[1], settings(f[2:])); err != nil {
				w.emit(f[1], "error", "start: "+err.Error())
			}
		case len(f) == 2 && f[0] == "close":
			go w.close(f[1])
		}
	}
}

func settings(f []string) map[string]string {
	kv := map[string]string{}
	for _, s := range f {
		k, v, _ := strings.Cut(s, "=")
		kv[k] = v
	}
	return kv
}

func (w *worker) client(key clientKey, id string) (*sharedClient, error) {
	if c := w.clients[key]; c != nil {
		c.users++
		return c, nil
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(key.bootstrap), kgo.ClientID(id))
	if err != nil {
		return nil, err
	}
	c := &sharedClient{Client: cl, users: 1}
	w.clients[key] = c
	return c, nil
}

func (w *worker) start(id string, kv map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := clientKey{bootstrap: kv["bootstrap"], group: kv["group"]}
	if w.separate {
		key.member = id
	}
	cl, err := w.client(key, kv["client"])
	if err != nil {
		return err
	}
	tell := func(kind string) func(context.Context, member.Partitions) error {
		return func(_ context.Context, p member.Partitions) error {
			if p.Len() > 0 {
				w.emit(id, kind, list(p[kv["topic"]]))
			}
			return nil
		}
	}
	m, err := member.NewConsumer(cl.Client, member.ConsumerConfig{
		Group: kv["group"], Topics: []string{kv["topic"]}, InstanceID: kv["instance"],
		OnAssigned: tell("assigned"), OnRevoked: tell("revoked"), OnLost: tell("lost"),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.drop(key)
		return err
	}
	r := &running{m: m, done: make(chan error, 1), key: key}
	w.members[id] = r
	go func() {
		err := m.Run(context.Background())
		if err != nil {
			w.emit(id, "error", err.Error())
		}
		r.done <- err
	}()
	return nil
}

// drop gives a use of a client back. w.mu is held.
func (w *worker) drop(key clientKey) {
	c := w.clients[key]
	if c.users--; c.users == 0 {
		delete(w.clients, key)
		c.Close()
	}
}

func (w *worker) close(id string) {
	w.mu.Lock()
	r := w.members[id]
	delete(w.members, id)
	w.mu.Unlock()
	if r == nil {
		w.emit(id, "closed", "never started")
		return
	}
	w.emit(id, "closing", "")
	text := ""
	if err := r.m.Leave(context.Background(), member.LeaveDefault); err != nil {
		text = err.Error()
	}
	w.emit(id, "closed", text)
	w.mu.Lock()
	w.drop(r.key)
	w.mu.Unlock()
}

func list(ps []int32) string {
	var sb strings.Builder
	for i, p := range ps {
		if i > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(strconv.Itoa(int(p)))
	}
	return sb.String()
}
