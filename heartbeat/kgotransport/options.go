package kgotransport

import (
	"context"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl"
)

const (
	// maxOverhead bounds how long a connection may owe an answer before kgo
	// closes it, however patient the application's own client is.
	maxOverhead = 10 * time.Second

	// defaultFetchMaxBytes is kgo's default of FetchMaxBytes.
	defaultFetchMaxBytes = 50 << 20
)

type dialFunc = func(ctx context.Context, network, host string) (net.Conn, error)

// settings are what a Transport keeps of the options of the user's client.
type settings struct {
	opts     []kgo.Opt // for our own clients; dialer and hooks come on top
	dial     dialFunc
	seeds    int
	versions *kversion.Versions // kgo.MaxVersions; nil: no limit
	lowest   *kversion.Versions // kgo.MinVersions; nil: no limit
	software [2]string
	rack     string
	group    string
}

// readSettings copies the connection options, one by one. Opts() would carry
// group, consuming and producing options along.
func readSettings(cl *kgo.Client) settings {
	seeds := option[[]string](cl, kgo.SeedBrokers)
	s := settings{
		dial:     option[dialFunc](cl, kgo.Dialer),
		seeds:    len(seeds),
		versions: option[*kversion.Versions](cl, kgo.MaxVersions),
		lowest:   option[*kversion.Versions](cl, kgo.MinVersions),
		rack:     option[string](cl, kgo.Rack),
		group:    option[string](cl, kgo.ConsumerGroup),
	}
	s.opts = []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.MaxVersions(s.versions),
		kgo.MinVersions(s.lowest),
		kgo.DialTimeout(option[time.Duration](cl, kgo.DialTimeout)),
		kgo.ConnIdleTimeout(option[time.Duration](cl, kgo.ConnIdleTimeout)),
		kgo.RequestTimeoutOverhead(min(maxOverhead, option[time.Duration](cl, kgo.RequestTimeoutOverhead))),
		kgo.DisableClientMetrics(),
		// Broker.Request never retries. These two are for the metadata that kgo
		// loads by itself when it meets a node ID that it does not know.
		kgo.RequestRetries(2),
		kgo.RetryBackoffFn(func(tries int) time.Duration {
			return min(2*time.Second, 25*time.Millisecond<<min(tries, 8))
		}),
	}
	read := option[int32](cl, kgo.BrokerMaxReadBytes)
	// kgo refuses a read limit below the fetch limit, though nothing is fetched.
	s.opts = append(s.opts, kgo.BrokerMaxReadBytes(read), kgo.FetchMaxBytes(min(read, defaultFetchMaxBytes)))
	if v := cl.OptValues(kgo.ClientID); len(v) == 2 && v[1] == true {
		s.opts = append(s.opts, kgo.ClientID(v[0].(string)))
	}
	if v := cl.OptValues(kgo.SoftwareNameAndVersion); len(v) == 2 {
		s.software = [2]string{v[0].(string), v[1].(string)}
		s.opts = append(s.opts, kgo.SoftwareNameAndVersion(s.software[0], s.software[1]))
	}
	if l := option[kgo.Logger](cl, kgo.WithLogger); l != nil {
		s.opts = append(s.opts, kgo.WithLogger(l))
	}
	for _, m := range option[[]sasl.Mechanism](cl, kgo.SASL) {
		s.opts = append(s.opts, kgo.SASL(mechanism{m}))
	}
	return s
}

// option is the value of one option of cl; the zero value if it is not set.
func option[T any](cl *kgo.Client, opt any) T {
	v, _ := cl.OptValue(opt).(T)
	return v
}

// mechanism hides the Close of a SASL mechanism, because kgo closes mechanisms
// together with a client, and this one belongs to the user's client.
type mechanism struct{ sasl.Mechanism }

// maxVersion is what kgo.MaxVersions allows for key: -1 if it excludes the key.
// ok is false if there is no limit.
func (s *settings) maxVersion(key int16) (max int16, ok bool) {
	if s.versions == nil {
		return 0, false
	}
	max, _ = s.versions.LookupMaxKeyVersion(key)
	return max, true
}

// minVersion is what kgo.MinVersions asks for key; -1 if nothing.
func (s *settings) minVersion(key int16) int16 {
	if s.lowest == nil {
		return -1
	}
	v, _ := s.lowest.LookupMaxKeyVersion(key)
	return v
}
