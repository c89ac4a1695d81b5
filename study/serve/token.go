package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Token lets its holder ask for samples.
type Token struct {
	Name    string    // in the log
	Expires time.Time // zero: never
	sum     [sha256.Size]byte
}

// shortestToken keeps tokens from being guessed: 16 characters of base64 are 96 bits.
const shortestToken = 16

// ParseTokens reads tokens: lines of a name, the token and perhaps the time when it expires (RFC 3339), apart by
// spaces; # begins a comment line. Errors name the line, and hold no token.
func ParseTokens(text []byte) ([]Token, error) {
	var out []Token
	for i, line := range strings.Split(string(text), "\n") {
		fail := func(format string, v ...any) ([]Token, error) {
			return nil, fmt.Errorf("line %d: "+format, append([]any{i + 1}, v...)...)
		}
		words := strings.Fields(line)
		switch {
		case len(words) == 0, strings.HasPrefix(words[0], "#"):
			continue
		case len(words) < 2, len(words) > 3:
			return fail("expected NAME TOKEN, and perhaps when it expires, as 2027-01-31T00:00:00Z")
		case len(words[1]) < shortestToken:
			return fail("the token of %q has %d characters; expected at least %d", words[0], len(words[1]),
				shortestToken)
		case strings.ContainsFunc(words[1], func(r rune) bool { return r <= ' ' || r > '~' }):
			return fail("the token of %q has a character that no header holds", words[0])
		}
		t := Token{Name: words[0], sum: sha256.Sum256([]byte(words[1]))}
		if len(words) == 3 {
			var err error
			if t.Expires, err = time.Parse(time.RFC3339, words[2]); err != nil {
				return fail("%q is no time; expected one as 2027-01-31T00:00:00Z", words[2])
			}
		}
		for _, other := range out {
			if other.sum == t.sum {
				return fail("the token of %q is that of %q", t.Name, other.Name)
			}
		}
		out = append(out, t)
	}
	if out == nil {
		return nil, fmt.Errorf("line %d: the file holds no token", bytes.Count(text, []byte("\n"))+1)
	}
	return out, nil
}

// holder returns whose token a request shows. Every token is compared, each in constant time.
func holder(tokens []Token, r *http.Request, now time.Time) (string, error) {
	shown := r.Header.Values("Authorization")
	if len(shown) != 1 {
		return "", unauthorized.fault("expected one header Authorization: Bearer TOKEN")
	}
	scheme, token, ok := strings.Cut(shown[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthorized.fault("expected Authorization: Bearer TOKEN")
	}
	sum, at := sha256.Sum256([]byte(strings.TrimSpace(token))), -1
	for i := range tokens {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], tokens[i].sum[:]), i, at)
	}
	switch {
	case at < 0:
		return "", unauthorized.fault("the token is not known")
	case !tokens[at].Expires.IsZero() && !now.Before(tokens[at].Expires):
		return "", unauthorized.fault("the token of %q expired at %s", tokens[at].Name,
			tokens[at].Expires.Format(time.RFC3339))
	}
	return tokens[at].Name, nil
}
