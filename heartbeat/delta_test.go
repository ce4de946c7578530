package heartbeat

import "testing"

func TestRule5Delta(t *testing.T) {
	var none Fields
	names := none.With(FieldNames)
	for name, c := range map[string]struct {
		steps func(d *Delta)
		want  Fields
	}{
		"at first all is unsent":               {func(*Delta) {}, AllFields},
		"sent is not acknowledged":             {func(d *Delta) { d.Send(1, AllFields) }, AllFields},
		"accepted":                             {func(d *Delta) { d.Send(1, AllFields); d.Accepted(1) }, none},
		"accepted in part":                     {func(d *Delta) { d.Send(1, names); d.Accepted(1) }, AllFields.Without(FieldNames)},
		"changed":                              {func(d *Delta) { known(d); d.Changed(FieldNames) }, names},
		"changed while in flight":              {func(d *Delta) { d.Send(1, AllFields); d.Changed(FieldNames); d.Accepted(1) }, names},
		"changed, sent, accepted":              {func(d *Delta) { known(d); d.Changed(FieldNames); d.Send(2, names); d.Accepted(2) }, none},
		"refused: what it carried and no more": {func(d *Delta) { known(d); d.Changed(FieldNames); d.Send(2, names); d.Refused(2) }, names},
		"a bare one is refused":                {func(d *Delta) { known(d); d.Send(2, none); d.Refused(2) }, none},
		"an answer to another request":         {func(d *Delta) { d.Send(2, AllFields); d.Accepted(1) }, AllFields},
		"unknown outcome":                      {func(d *Delta) { known(d); d.Send(2, none); d.Reset() }, AllFields},
		"a late answer after an unknown one":   {func(d *Delta) { d.Send(1, AllFields); d.Reset(); d.Accepted(1) }, AllFields},
		"a change was taken back":              {func(d *Delta) { known(d); d.Changed(FieldNames); d.Known(FieldNames) }, none},
	} {
		var d Delta
		c.steps(&d)
		if got := d.Unsent(); got != c.want {
			t.Errorf("%s: unsent %06b, want %06b", name, got, c.want)
		}
	}
}

func known(d *Delta) {
	d.Send(1, AllFields)
	d.Accepted(1)
}
