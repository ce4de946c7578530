package membertest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// NewCluster starts a cluster that tb's cleanup closes. It fails tb if the
// configuration makes no sense. In a synctest bubble call it with the bubble's tb.
func NewCluster(tb testing.TB, cfg brokers.Config) *brokers.Cluster {
	tb.Helper()
	c, err := brokers.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// NewClient makes a client of cluster, with opts after those that reach it, that
// tb's cleanup closes. One client stands for one process: its members share
// connections and wake each other.
func NewClient(tb testing.TB, cluster *brokers.Cluster, opts ...kgo.Opt) *kgo.Client {
	tb.Helper()
	cl, err := kgo.NewClient(append(cluster.Opts(), opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cl.Close)
	return cl
}
