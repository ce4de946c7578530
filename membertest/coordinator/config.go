package coordinator

import (
	"time"
)

// Config describes one group coordinator. The zero value is a Kafka 4.4
// coordinator with the broker's defaults.
type Config struct {
	// Version is the Kafka release to answer as. Zero: V44.
	Version Version

	// HeartbeatInterval is what answers tell members to wait between two
	// heartbeats (group.consumer.heartbeat.interval.ms). Zero or negative: 5s.
	HeartbeatInterval time.Duration

	// SessionTimeout is how long a member lives after its last accepted
	// heartbeat (group.consumer.session.timeout.ms). Zero or negative: 45s.
	SessionTimeout time.Duration

	// AssignmentInterval is the least time between two target assignments of
	// a group (group.consumer.assignment.interval.ms). Zero: 1s. Negative:
	// none. Versions before 4.3 do not have it, whatever is set.
	AssignmentInterval time.Duration

	// RegexRefreshInterval is the least time between two resolutions of a
	// group's regular expressions. Zero or negative: 10s.
	RegexRefreshInterval time.Duration

	// MaxGroupSize is the most members a group may have
	// (group.consumer.max.size). Zero or negative: unlimited.
	MaxGroupSize int

	// Assign, if set, makes the target assignments instead of the assignors
	// that the members name: which of some equally good splits a broker picks
	// is nothing the model could know. It gets the group with the change that
	// asks for a new target, and returns the partitions of each member ID.
	Assign func(g Group) map[string][]TopicPartitions
}

// withDefaults returns cfg with every unset field resolved.
func (cfg Config) withDefaults() Config {
	if cfg.Version == 0 {
		cfg.Version = V44
	}
	if cfg.HeartbeatInterval <= 0 {
		cfg.HeartbeatInterval = 5 * time.Second
	}
	if cfg.SessionTimeout <= 0 {
		cfg.SessionTimeout = 45 * time.Second
	}
	switch {
	case cfg.AssignmentInterval < 0, !cfg.Version.hasAssignmentInterval():
		cfg.AssignmentInterval = 0
	case cfg.AssignmentInterval == 0:
		cfg.AssignmentInterval = time.Second
	}
	if cfg.RegexRefreshInterval <= 0 {
		cfg.RegexRefreshInterval = 10 * time.Second
	}
	return cfg
}

// Client is where a request came from. A describe shows it.
type Client struct {
	ID   string // the client.id of the connection
	Host string // as a broker prints it, for example "/127.0.0.1"
}

// Coordinator is the model of one group coordinator. Make it with New.
type Coordinator struct {
	cfg    Config
	groups map[string]*group
	image  image

	made uint64    // numbers the IDs made here
	due  time.Time // no timer is due before this; zero: no timer is set
}

// New returns a coordinator without groups and topics.
func New(cfg Config) *Coordinator {
	return &Coordinator{
		cfg:    cfg.withDefaults(),
		groups: make(map[string]*group),
		image:  newImage(),
	}
}

// Version returns the Kafka release the coordinator answers as.
func (c *Coordinator) Version() Version { return c.cfg.Version }
