package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

var rewrite = flag.Bool("rewrite", false, "write the recorded outputs anew: look at them then")

type group = kmsg.StreamsGroupDescribeResponseGroup

// shows starts a broker that answers each description with a group, and returns the flags that say where.
func shows(t *testing.T, g group) []string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.ControlKey(int16(kmsg.ApiVersions), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key := range int16(100) {
			if req := kmsg.RequestForKey(key); req != nil {
				k := kmsg.NewApiVersionsResponseApiKey()
				k.ApiKey, k.MaxVersion = key, req.MaxVersion()
				resp.ApiKeys = append(resp.ApiKeys, k)
			}
		}
		return resp, nil, true
	})
	c.ControlKey(int16(kmsg.StreamsGroupDescribe), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.StreamsGroupDescribeResponse)
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	return []string{"-brokers", strings.Join(c.ListenAddrs(), ","), "-group", g.Group, "-timeout", "5s"}
}

func failed(code *kerr.Error, message string) group {
	g := kmsg.NewStreamsGroupDescribeResponseGroup()
	g.Group, g.ErrorCode = "app1", code.Code
	if message != "" {
		g.ErrorMessage = &message
	}
	return g
}

// inEpoch5 is the recorded group with topology epoch 5.
func inEpoch5(t *testing.T) group {
	g := recorded(t, "describe-count.json")
	g.Topology.Epoch, g.Members[0].TopologyEpoch = 5, 5
	return g
}

// notReady is what 4.1 shows of a group that waits for topics: no topology, only the members' epochs.
func notReady(t *testing.T) group {
	g := inEpoch5(t)
	g.Topology, g.State = nil, "NotReady"
	return g
}

// own writes the topology that the recorded group has joined with, and one with another store.
func own(t *testing.T) (same, other string) {
	t.Helper()
	text, err := os.ReadFile(data + "golden/java-count.json")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, replace ...string) string {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	return write("same.json", "t-single", "app1"), write("other.json", "t-single-counts", "app1-sums", "t-single", "app1")
}

// kind is a group, and what each command makes of it.
type kind struct {
	group group
	rows  []row
}

type row struct {
	code int
	says string
	args []string
}

func cmd(code int, says string, args ...string) row { return row{code, says, args} }

// everywhere are the commands that end alike, and say the same.
func everywhere(code int, says, file string) (rows []row) {
	for _, args := range [][]string{{"describe"}, {"diff", file}, {"next-epoch", file}, {"check", file}, {"graph"}, {"reset"}} {
		rows = append(rows, row{code, says, args})
	}
	return rows
}

func kinds(t *testing.T, same, other string) map[string]kind {
	return map[string]kind{
		"there": {inEpoch5(t), []row{
			cmd(exitDone, "group app1: Stable", "describe"),
			cmd(exitDone, "same: t1-", "diff", same),
			cmd(exitRefused, "app1-sums-changelog", "diff", other),
			cmd(exitDone, "no bump is due: keep epoch 5", "next-epoch", same),
			cmd(exitDone, `"epoch": 6`, "next-epoch", other),
			cmd(exitDone, "may join: t1-", "check", "-epoch", "5", same),
			cmd(exitRefused, topology.ErrMismatch.Error(), "check", "-epoch", "5", other),
			cmd(exitRefused, topology.ErrRollback.Error(), "check", "-epoch", "4", same),
			cmd(exitRefused, topology.ErrRollback.Error(), "check", same), // epoch 0
			cmd(exitDone, "may join", "check", "-epoch", "4", "-allow-rollback", same),
			cmd(exitRefused, topology.ErrUpdate.Error(), "check", "-epoch", "6", "-allow-update", other),
			cmd(exitDone, "flowchart", "graph"),
			cmd(exitDone, "digraph", "graph", "-format", "dot"),
			cmd(exitRefused, "still has 1 members", "reset", "-wait", "1ms"),
		}},
		"not there": {failed(kerr.GroupIDNotFound, "Group app1 not found."), []row{
			cmd(exitRefused, "group app1: none", "describe"),
			cmd(exitRefused, "no such group", "diff", same),
			cmd(exitDone, `"first": true`, "next-epoch", same),
			cmd(exitDone, "may join", "check", same),
			cmd(exitRefused, "no streams group", "graph"),
			cmd(exitRefused, "no streams group", "reset"),
		}},
		"not shown": {notReady(t), []row{
			cmd(exitDone, "topology: not shown", "describe"),
			cmd(exitNotKnown, "cannot-tell: (not shown)", "diff", same),
			cmd(exitNotKnown, `"cannot-tell"`, "next-epoch", same),
			cmd(exitNotKnown, "shows its epoch 5 only", "check", "-epoch", "5", same),
			cmd(exitRefused, topology.ErrRollback.Error(), "check", "-epoch", "4", same),
			cmd(exitNotKnown, "cannot tell", "graph"),
		}},
		"of another type": {failed(kerr.GroupIDNotFound, "Group app1 is not a streams group."), everywhere(exitRefused, "another type", same)},
		"without a right": {failed(kerr.GroupAuthorizationFailed, ""), everywhere(exitNotKnown, "GROUP_AUTHORIZATION_FAILED", same)},
	}
}

// Every command, on every kind of group, has its exit code, and says what it is about.
func TestExitCodesByGroup(t *testing.T) {
	same, other := own(t)
	for name, k := range kinds(t, same, other) {
		t.Run(name, func(t *testing.T) {
			where := shows(t, k.group)
			for _, r := range k.rows {
				args := append([]string{r.args[0]}, where...)
				if r.args[0] == "reset" {
					args = append(args, "-save", filepath.Join(t.TempDir(), "offsets"))
				}
				if out, log := ctl(t, r.code, append(args, r.args[1:]...)...); !strings.Contains(out+log, r.says) {
					t.Errorf("%v does not say %q: %s%s", r.args, r.says, out, log)
				}
			}
		})
	}
}

// A broker before streams groups is told from one that does not answer: nobody waits for it.
func TestBrokerWithoutStreamsGroups(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	began := time.Now()
	_, log := ctl(t, exitNotKnown, "describe", "-brokers", strings.Join(c.ListenAddrs(), ","), "-group", "g", "-timeout", "1m")
	if took := time.Since(began); took > 10*time.Second || !strings.Contains(log, "StreamsGroupDescribe") {
		t.Errorf("after %v: %s", took, log)
	}
}

// What the recorded groups look like.
func TestDescribeOfRecordedGroups(t *testing.T) {
	for _, name := range []string{"count", "table"} {
		where := shows(t, recorded(t, "describe-"+name+".json"))
		text, _ := ctl(t, exitDone, append([]string{"describe"}, where...)...)
		golden(t, "describe-"+name+".txt", text)
		asJSON, _ := ctl(t, exitDone, append([]string{"describe", "-json"}, where...)...)
		golden(t, "describe-"+name+".json", asJSON)
	}
}

// A plan for machines, field by field.
func TestPlanOfARecordedGroup(t *testing.T) {
	same, other := own(t)
	where := shows(t, inEpoch5(t))
	for file, want := range map[string]map[string]any{
		same:  {"epoch": 5.0, "bump": false, "first": false, "in_place": true, "verdict": "same"},
		other: {"epoch": 6.0, "bump": true, "first": false, "in_place": false, "verdict": "different"},
	} {
		out, _ := ctl(t, exitDone, append(append([]string{"next-epoch"}, where...), file)...)
		var got map[string]any
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s is %v, want %v: %s", k, got[k], v, out)
			}
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || got != string(want) {
		t.Errorf("%s: %v, got\n%s", name, err, got)
	}
}
