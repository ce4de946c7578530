package main

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// sink writes events, one JSON object a line, each with one Write, from one
// goroutine. Between it and those who put events there is a queue without a bound:
// a reader of stdout that stops reading costs memory, and never holds up a callback
// or a hook.
type sink struct {
	w      io.Writer
	failed func() // called once, after the first failed write

	mu      sync.Mutex
	queue   []event
	closing bool
	err     error

	wake chan struct{} // holds one token when there is something to do
	done chan struct{}
}

func newSink(w io.Writer, failed func()) *sink {
	s := &sink{w: w, failed: failed, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// put never blocks. What comes after the end, or after a failed write, is dropped.
func (s *sink) put(events ...event) {
	s.mu.Lock()
	if s.err == nil && !s.closing {
		s.queue = append(s.queue, events...)
	}
	s.mu.Unlock()
	s.nudge()
}

func (s *sink) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sink) take() (batch []event, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, s.queue = s.queue, nil
	return batch, s.closing
}

func (s *sink) run() {
	defer close(s.done)
	for range s.wake {
		batch, closing := s.take()
		for _, e := range batch {
			if err := s.write(e); err != nil {
				s.fail(err)
				return
			}
		}
		if closing {
			return
		}
	}
}

func (s *sink) write(e event) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	_, err := s.w.Write(line.Bytes())
	return err
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	s.err, s.queue = err, nil
	s.mu.Unlock()
	s.failed()
}

// close writes what is in the queue, for at most limit. It reports whether all of
// it was written, and why writing ended if it failed.
func (s *sink) close(limit time.Duration) (flushed bool, err error) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.nudge()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil, s.err
}
