package kafkatest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Config says what cluster to start. The zero Config is one node of
// [DefaultVersion].
type Config struct {
	// Version of Kafka, [DefaultVersion] if empty.
	Version string
	// Nodes is 1 or 3; 0 is 1. Every node is a broker and a controller.
	Nodes int
	// Props are broker settings; they win over the ones of this package.
	Props map[string]string
	// Heap is the most a node's Java heap may take, 384m if empty.
	Heap string
	// Proxy gives every node a second listener for clients whose advertised
	// address is a [Proxy]: see [Cluster.ProxyAddrs].
	Proxy bool
	// ACL has clients log in with SASL PLAIN and turns on the authorizer,
	// which lets nobody but the super user [Admin] do anything until
	// [Cluster.Allow].
	ACL bool
	// NoConsumerProtocol makes the brokers answer consumer group heartbeats
	// with UNSUPPORTED_VERSION.
	NoConsumerProtocol bool
}

// The users of a cluster with [Config.ACL]. The password of each is its name
// followed by "-secret".
const (
	Admin = "admin" // may do everything
	Alice = "alice"
	Bob   = "bob"
)

func password(user string) string { return user + "-secret" }

const (
	clientListener     = "CLIENT"
	proxiedListener    = "PROXIED"
	internalListener   = "INTERNAL"
	controllerListener = "CONTROLLER"
)

func (cfg Config) withDefaults() (Config, error) {
	if cfg.Version == "" {
		cfg.Version = DefaultVersion
	}
	if cfg.Nodes == 0 {
		cfg.Nodes = 1
	}
	if cfg.Heap == "" {
		cfg.Heap = "384m"
	}
	if cfg.Nodes != 1 && cfg.Nodes != 3 {
		return cfg, fmt.Errorf("kafkatest: a cluster has 1 or 3 nodes, not %d", cfg.Nodes)
	}
	return cfg, checkVersion(cfg.Version)
}

// features are the arguments that formatting takes for this config.
func (cfg Config) features() []string {
	var fs []string
	if cfg.NoConsumerProtocol {
		fs = append(fs, "--feature", "group.version=0")
	}
	if unstable(cfg.Version) {
		fs = append(fs, "--feature", "streams.version=1")
	}
	return fs
}

// properties returns the server.properties of a node.
func (cfg Config) properties(n *node, all []*node) string {
	size := strconv.Itoa(len(all))
	p := map[string]string{
		"process.roles":                            "broker,controller",
		"node.id":                                  strconv.Itoa(n.id),
		"log.dirs":                                 filepath.Join(n.dir, "data"),
		"offsets.topic.replication.factor":         size,
		"offsets.topic.num.partitions":             strconv.Itoa(offsetsPartitions),
		"transaction.state.log.replication.factor": size,
		"transaction.state.log.min.isr":            "1",
		"default.replication.factor":               size,
		"group.initial.rebalance.delay.ms":         "0",
	}
	if len(all) > 1 {
		// The controller notices a dead broker by its missing heartbeats only:
		// the default of 9 s makes every failover test that long.
		p["broker.session.timeout.ms"] = "4000"
		p["broker.heartbeat.interval.ms"] = "500"
	}
	if unstable(cfg.Version) {
		p["unstable.api.versions.enable"] = "true"
		p["unstable.feature.versions.enable"] = "true"
	}
	cfg.listeners(p, n, all)
	if cfg.ACL {
		cfg.authorize(p)
	}
	maps.Copy(p, cfg.Props)

	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s=%s\n", k, p[k])
	}
	return b.String()
}

// listeners sets all that has to do with addresses.
func (cfg Config) listeners(p map[string]string, n *node, all []*node) {
	voters := make([]string, len(all))
	for i, v := range all {
		voters[i] = fmt.Sprintf("%d@%s", v.id, addr(v.ports[controllerListener]))
	}
	forClients := "PLAINTEXT"
	if cfg.ACL {
		forClients = "SASL_PLAINTEXT"
	}
	var listen, advertise, protocols []string
	for _, name := range cfg.listenerNames() {
		at, protocol := name+"://"+addr(n.ports[name]), "PLAINTEXT"
		listen = append(listen, at)
		switch name {
		case clientListener:
			protocol = forClients
			advertise = append(advertise, at)
		case proxiedListener:
			protocol = forClients
			advertise = append(advertise, name+"://"+n.proxy.Addr())
		case internalListener:
			advertise = append(advertise, at)
		}
		protocols = append(protocols, name+":"+protocol)
	}
	p["controller.quorum.voters"] = strings.Join(voters, ",")
	p["listeners"] = strings.Join(listen, ",")
	p["advertised.listeners"] = strings.Join(advertise, ",")
	p["listener.security.protocol.map"] = strings.Join(protocols, ",")
	p["controller.listener.names"] = controllerListener
	p["inter.broker.listener.name"] = clientListener
	if cfg.ACL {
		p["inter.broker.listener.name"] = internalListener
	}
}

// listenerNames are the listeners of every node. Brokers talk to each other
// over the clients' listener, unless clients must log in there.
func (cfg Config) listenerNames() []string {
	names := []string{clientListener, controllerListener}
	if cfg.Proxy {
		names = append(names, proxiedListener)
	}
	if cfg.ACL {
		names = append(names, internalListener)
	}
	return names
}

// authorize sets logins and the authorizer. Whoever comes in by a listener
// without login is ANONYMOUS: these are the nodes themselves.
func (cfg Config) authorize(p map[string]string) {
	jaas := "org.apache.kafka.common.security.plain.PlainLoginModule required"
	for _, u := range []string{Admin, Alice, Bob} {
		jaas += fmt.Sprintf(" user_%s=%q", u, password(u))
	}
	for _, l := range []string{clientListener, proxiedListener} {
		p["listener.name."+strings.ToLower(l)+".plain.sasl.jaas.config"] = jaas + ";"
	}
	p["sasl.enabled.mechanisms"] = "PLAIN"
	p["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	p["super.users"] = "User:" + Admin + ";User:ANONYMOUS"
}
