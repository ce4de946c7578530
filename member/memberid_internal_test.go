package member

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"regexp"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-go/rollcall/heartbeat"
)

var nowhere = heartbeat.TransportFunc(nil)

// ids makes n member IDs from good entropy.
func ids(t *testing.T, n int) iter.Seq2[string, uuid.UUID] {
	return func(yield func(string, uuid.UUID) bool) {
		for range n {
			id, err := newMemberID(rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			b, err := base64.RawURLEncoding.DecodeString(id)
			if err != nil || len(b) != 16 {
				t.Fatalf("%q is not the base64url text of 16 bytes: %v", id, err)
			}
			if !yield(id, uuid.UUID(b)) {
				return
			}
		}
	}
}

// K1082-16: a random UUID, version 4.
func TestK1082_16_Version4(t *testing.T) {
	for id, u := range ids(t, 1000) {
		if u.Version() != 4 || u.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is version %d, variant %v", id, u.Version(), u.Variant())
		}
	}
}

// K1082-17: reserved IDs, and any with a '-', are drawn again.
func TestK1082_17_DrawnAgain(t *testing.T) {
	dash := bytes.Repeat([]byte{0xfb}, 16) // base64url: -_v7...
	good := bytes.Repeat([]byte{0x11}, 16)
	id, err := newMemberID(io.MultiReader(bytes.NewReader(dash), bytes.NewReader(good)))
	if err != nil || !validMemberID(id) {
		t.Fatalf("got %q, %v", id, err)
	}
	if b, _ := base64.RawURLEncoding.DecodeString(id); b[0] != 0x11 {
		t.Errorf("%q was not drawn again", id)
	}
	// Nothing but zeros is still no reserved ID: version and variant bits are set.
	if id, err := newMemberID(bytes.NewReader(make([]byte, 16))); err != nil || !validMemberID(id) {
		t.Errorf("of zeros: %q, %v", id, err)
	}
	for _, reserved := range []string{"AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"} {
		if validMemberID(reserved) {
			t.Errorf("%s is taken for a member ID", reserved)
		}
	}
}

// K1082-18: 22 characters of base64url text, without padding.
func TestK1082_18_Text(t *testing.T) {
	form := regexp.MustCompile(`^[A-Za-z0-9_]{22}$`)
	for id := range ids(t, 1000) {
		if !form.MatchString(id) {
			t.Fatalf("%q", id)
		}
	}
}

// K1082-19: without good entropy there is no member.
func TestK1082_19_NoEntropyNoMember(t *testing.T) {
	broken := errors.New("no entropy")
	for name, r := range map[string]io.Reader{
		"none":    errReader{broken},
		"too few": io.MultiReader(bytes.NewReader(make([]byte, 15)), errReader{broken}),
		"the end": bytes.NewReader(nil),
	} {
		m, err := newConsumer(nil, ConsumerConfig{Group: "g", Topics: []string{"t"}, Transport: nowhere}, r)
		ce, ok := errors.AsType[*ConfigError](err)
		if m != nil || !ok || len(ce.Faults) != 1 || ce.Faults[0].Field != "MemberID" || ce.Faults[0].Err == nil {
			t.Errorf("%s: got %v, %v", name, m, err)
		}
	}
	if _, err := newConsumer(nil, ConsumerConfig{Group: "g", Topics: []string{"t"}, Transport: nowhere}, rand.Reader); err != nil {
		t.Error(err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// S-9: a million IDs.
func TestS09_MillionIDs(t *testing.T) {
	const n = 1_000_000
	raw := make([]byte, 0, 16*n)
	for id, u := range ids(t, n) {
		if len(id) != 22 || u[6]>>4 != 4 || u[8]>>6 != 2 || !validMemberID(id) {
			t.Fatalf("bad ID %q", id)
		}
		raw = append(raw, u[:]...)
	}
	all := make([][16]byte, n)
	for i := range all {
		copy(all[i][:], raw[16*i:])
	}
	slices.SortFunc(all, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	for i := 1; i < n; i++ {
		if all[i] == all[i-1] {
			t.Fatalf("twice: %x", all[i])
		}
	}
}
