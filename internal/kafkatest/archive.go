package kafkatest

import (
	"os"
	"path/filepath"
	"time"
)

// A JVM that is given an archive of the classes it will load starts a broker
// in half the time. The first single broker of each version writes one when it ends,
// next to the jars. A JVM that an archive does not suit starts without it.

// archive is where the archive for this Kafka and this Java is, if there is one.
func (c *Cluster) archive() string {
	return filepath.Join(c.libs, "classes-"+c.java.version+".jsa")
}

// newArchive is where this cluster's node writes an archive. It is
// the cluster's own until it is complete: other processes may write theirs.
func (c *Cluster) newArchive() string { return filepath.Join(c.dir, "classes.jsa") }

// recording returns the JVM arguments that have a single node write an
// archive, none if there is one already.
func (c *Cluster) recording() []string {
	if len(c.nodes) != 1 || hasFile(c.archive()) {
		return nil
	}
	return []string{"-XX:ArchiveClassesAtExit=" + c.newArchive()}
}

// saveArchive ends a single node that records in good order and keeps its
// archive. It is no loss if that fails: the next one tries again.
func (c *Cluster) saveArchive() {
	if len(c.nodes) != 1 || hasFile(c.archive()) {
		return // several nodes take long to end in good order
	}
	n := c.nodes[0]
	if n.state != running || n.proc.ended() {
		return
	}
	_ = n.proc.cmd.Process.Signal(termSignal)
	if !n.proc.waitFor(20*time.Second) || !hasFile(c.newArchive()) {
		return
	}
	b, err := os.ReadFile(c.newArchive())
	if err != nil {
		return
	}
	// The cache may be on another file system, hence not just a rename.
	tmp := c.archive() + "." + filepath.Base(c.dir)
	if os.WriteFile(tmp, b, 0o444) != nil || os.Rename(tmp, c.archive()) != nil {
		_ = os.Remove(tmp)
	}
}
