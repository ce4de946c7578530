package member

import (
	"encoding/base64"
	"io"
	"strings"

	"github.com/google/uuid"
)

// newMemberID makes a member ID: a version 4 UUID as 22 characters of URL-safe
// base64 without padding (KIP-1082, "UUID specification"; Uuid.toString, Kafka
// 4.x). IDs with a '-' anywhere are drawn again, as Kafka 4.4 does: IDs get
// pasted into command lines. Reserved IDs (all zero and its neighbour) cannot
// come up, as the version bits are set. Without good entropy there is no ID.
func newMemberID(entropy io.Reader) (string, error) {
	for {
		u, err := uuid.NewRandomFromReader(entropy)
		if err != nil {
			return "", err
		}
		if id := base64.RawURLEncoding.EncodeToString(u[:]); !strings.Contains(id, "-") {
			return id, nil
		}
	}
}

// validMemberID reports whether id is one that newMemberID could have made.
func validMemberID(id string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(b) != 16 || strings.Contains(id, "-") {
		return false
	}
	u, err := uuid.FromBytes(b)
	return err == nil && u.Version() == 4 && u.Variant() == uuid.RFC4122
}
