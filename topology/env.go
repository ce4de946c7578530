package topology

import (
	"fmt"
	"os"
)

// EpochFromEnv reads the epoch from an environment variable, so that a rollout can set
// it. Unset is 0. Set to anything but a number from 0 on, the empty text too, is an
// error: a template that was not filled in must not turn into epoch 0.
func EpochFromEnv(key string) (Epoch, error) {
	s, ok := os.LookupEnv(key)
	if !ok {
		return 0, nil
	}
	e, err := ParseEpoch(s)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return e, nil
}
