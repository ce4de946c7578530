// Package heartbeat is how a group member speaks with its coordinator: the
// [Transport] that carries one attempt of one request, the pure parts that
// decide what a request contains ([Delta]), when it is due ([Schedule]) and what
// its answer means ([Classify]), and the [Loop] that owns time: the only timers
// and goroutines of a member.
//
// The pure parts have no clock, channel, lock, goroutine or logger. They take
// "now" as a parameter. A [Core] is the pure half of a member (package member
// has them); the Loop drives it: Step with an [Input], then drain Next until it
// says wait or done.
package heartbeat
