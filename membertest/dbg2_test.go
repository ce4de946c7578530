package membertest

import (
	"fmt"
	"log/slog"
	"strings"
)

func (r *Recorder) story(id string) string {
	var b strings.Builder
	infos, _, _ := r.since(0)
	var own []any
	for _, i := range infos {
		if strings.Contains(fmt.Sprint(i), id) {
			own = append(own, i)
		}
	}
	for _, i := range own[max(0, len(own)-100):] {
		fmt.Fprintf(&b, "%s %v %v\n", fmt.Sprintf("%T", i), fmt.Sprint(i)[40:70], i.(slog.LogValuer).LogValue())
	}
	return b.String()
}
