package kgotransport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// UnsupportedError says that a request cannot be sent because a broker, or
// kgo.MaxVersions of the application's own client, does not have the API or the
// version that it needs. Nothing was sent. It unwraps to kerr.UnsupportedVersion.
// It is worth trying again while brokers are being upgraded.
type UnsupportedError struct {
	Key       int16  // of the request
	Node      int32  // the broker; -1: none was asked
	BrokerMax int16  // the highest version that the broker offers; -1: none, or not asked
	ClientMax int16  // the highest version that the client may send; -1: kgo.MaxVersions excludes it
	Reason    string // what is missing and what to change
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	where := ""
	if e.Node != -1 {
		where = " at broker " + kgo.NodeName(e.Node)
	}
	return fmt.Sprintf("%s (key %d) is not supported%s: %s", kmsg.NameForKey(e.Key), e.Key, where, e.Reason)
}

// Unwrap returns kerr.UnsupportedVersion.
func (e *UnsupportedError) Unwrap() error { return kerr.UnsupportedVersion }

// LookupError says that a broker refused to name the coordinator of a group. The
// request that needed the coordinator was not sent. It unwraps to the error of
// package kerr: COORDINATOR_NOT_AVAILABLE passes by itself, an authorization
// error does not.
type LookupError struct {
	Group   string
	Code    int16  // as the broker sent it, also if kerr does not know it
	Message string // of the broker; "" if it sent none
}

// Error implements error.
func (e *LookupError) Error() string {
	s := fmt.Sprintf("the broker did not name a coordinator: code %d, %v", e.Code, e.Unwrap())
	if e.Message != "" {
		s += " (" + e.Message + ")"
	}
	return s
}

// Unwrap returns the error of package kerr.
func (e *LookupError) Unwrap() error { return kerr.ErrorForCode(e.Code) }

func lookupError(group string, code int16, message *string) error {
	if code == 0 {
		return nil
	}
	e := &LookupError{Group: group, Code: code}
	if message != nil {
		e.Message = *message
	}
	return e
}

// IsAuth reports whether err is a failure of SASL or TLS, so that the same
// attempt will most likely fail again. It is about the connection only if err
// also matches heartbeat.ErrNotSent: see [IsAuthGuess] for what else it may be.
func IsAuth(err error) bool { return isSASL(err) || isTLS(err) || IsAuthGuess(err) }

// IsAuthGuess reports whether err is kgo's guess that SASL or TLS is missing
// (*kgo.ErrFirstReadEOF). kgo also makes it from a connection that a broker, or a
// load balancer, closed for another reason before its first answer: it is no
// ground to give up.
func IsAuthGuess(err error) bool { return is[*kgo.ErrFirstReadEOF](err) }

func isSASL(err error) bool {
	for _, e := range []error{kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func isTLS(err error) bool {
	// crypto/tls reports an alert as a net.OpError around a type that it does not
	// export; Op is its only mark.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return true
	}
	return is[*tls.CertificateVerificationError](err) || is[tls.AlertError](err) || is[tls.RecordHeaderError](err) ||
		is[x509.UnknownAuthorityError](err) || is[x509.CertificateInvalidError](err) || is[x509.HostnameError](err) ||
		is[x509.SystemRootsError](err) || is[x509.ConstraintViolationError](err) ||
		is[x509.InsecureAlgorithmError](err) || is[x509.UnhandledCriticalExtension](err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
