package serve

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/landing-diffusion/landing/study/engine"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var elsewhere = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]+/?[^\s"']*`)

// The page's files are there, with a policy that lets them load each other and nothing else, and they name no other
// site.
func TestPageFiles(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t)}, Options{})
	for _, path := range []string{"/", "/page/page.css", "/page/page.js", "/page/scene.css", "/page/scenes.js"} {
		w, b := s.ask("GET", path, "")
		if policy := w.Header.Get("Content-Security-Policy"); w.StatusCode != 200 || !strings.Contains(policy,
			"default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d, policy %q", path, w.StatusCode, policy)
		}
		for _, link := range elsewhere.FindAllString(string(b), -1) {
			if link != "http://www.w3.org/2000/svg" { // a name, which nobody loads
				t.Errorf("%s names %s", path, link)
			}
		}
	}
	if w, _ := s.ask("GET", "/page/", ""); w.StatusCode != 404 {
		t.Errorf("a list of files: %d", w.StatusCode)
	}
}

// browser returns a context of a headless browser; without one the test is skipped.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if at, err := exec.LookPath(name); err == nil {
			path = at
			break
		}
	}
	if path == "" || testing.Short() {
		t.Skip("no browser is installed (chromium, google-chrome), or -short: the page is not opened")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.WindowSize(1200, 900))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// In a browser the page draws runs of each kind of view, plays their way back, is worked by keys, has names for all
// that is worked, fits a narrow screen, turns dark, and asks nobody else for anything.
func TestPageInABrowser(t *testing.T) {
	ctx := browser(t)
	s := start(t, map[string]string{"demo": demo(t), "disc": disc(t)}, Options{Local: true,
		Standing: func(r *engine.Run) Standing {
			if r.Name == "demo" {
				return Standing{State: "finished", Grade: "good", Verdict: "good: nothing is wrong"}
			}
			return Standing{State: "stopped", Grade: "not good", Verdict: "not good: one thing is wrong",
				Wrong: []string{"walls: too few <b>there</b>."}, Cautions: []string{"its training has not finished"}}
		}})
	var mu sync.Mutex
	var wrong []string
	do := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v %v", what, err, wrong)
		}
	}
	// tell returns what an expression is, once it is not empty.
	tell := func(expression string) string {
		t.Helper()
		v, err := chromedp.Run(ctx, chromedp.Poll[string](expression))
		if err != nil {
			t.Fatalf("%s: %v %v", expression, err, wrong)
		}
		return v
	}
	testkit.OK(t, chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			wrong = append(wrong, fmt.Sprintf("a script failed: %+v", e.ExceptionDetails))
		case *cdplog.EventEntryAdded:
			wrong = append(wrong, fmt.Sprintf("the browser says: %+v", e.Entry))
		}
	}))
	const drawn = `(/samples in .* frames/.exec(document.getElementById("status").textContent) || [""])[0]`
	// painted tells whether a canvas shows more than one colour.
	const painted = `(() => { const c = document.querySelector("canvas"); if (!c) return "";
		const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; for (let i = 4; i < p.length; i += 4)
		if (p[i + 3] && (p[i] !== p[0] || p[i + 1] !== p[1])) return "yes"; return ""; })()`
	const unnamed = `"unnamed: " + [...document.querySelectorAll("input,select,button,canvas,[role=img]")].filter(e =>
		!(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim() ||
		e.getAttribute("aria-labelledby"))).map(e => e.outerHTML).join("\n")`
	const others = `"elsewhere: " + performance.getEntriesByType("resource").map(e => e.name).filter(n =>
		!n.startsWith(location.origin + "/") && !n.startsWith("data:") && !n.startsWith("blob:")).join(" ")`
	const frame = `document.getElementById("frame").textContent`
	do("open", chromedp.Navigate("http://"+s.at+"/"), chromedp.WaitVisible("#globe"))
	if text := tell(`document.querySelectorAll("#violation polyline").length == 2 && ` + drawn); text == "" {
		t.Error("nothing is drawn")
	}
	tell(painted)
	testkit.Equal(t, tell(unnamed), "unnamed: ")
	// Playing ends at the samples. Then keys move in time: to noise, and a step from it.
	tell(`document.getElementById("play").getAttribute("aria-pressed") === "false" && ` + frame +
		` === "samples" && "yes"`)
	do("keys", chromedp.SendKeys("#time", kb.Home))
	testkit.Equal(t, tell(frame), "step 0 of 12", "the first frame")
	do("keys", chromedp.SendKeys("#time", kb.ArrowRight))
	testkit.Equal(t, tell(frame), "step 1 of 12", "the second frame")
	do("keys", chromedp.SendKeys("#time", kb.End))
	testkit.Equal(t, tell(frame), "samples", "the last frame")
	tell(`document.getElementById("save").click() || "yes"`)
	tell(`(/\.npy: 4928 bytes/.exec(document.getElementById("status").textContent) || [""])[0]`) // 128 and 200×3×8
	const standing = `(() => { const e = document.getElementById("standing"); return e.hidden ? "" :
		e.className + ": " + e.textContent; })()`
	testkit.Equal(t, tell(standing), "told: Verdict: good: nothing is wrong.", "of a good run it")
	// Another run, which has a condition and no view of its own.
	tell(`(() => { const s = document.getElementById("run"); s.value = "disc"; s.dispatchEvent(new Event("change"));
		return "yes"; })()`)
	do("choose", chromedp.WaitVisible("#points"))
	tell(drawn)
	tell(painted)
	if text := tell(standing); text != "fault: Verdict: not good: one thing is wrong. walls: too few <b>there</b>. "+
		"its training has not finished." {
		t.Errorf("of a bad run it says %q", text)
	}
	testkit.Equal(t, tell(unnamed), "unnamed: ")
	// What the service refuses stands there in words.
	tell(`(document.getElementById("given-0").value = "-1") && (document.getElementById("draw").click() || "yes")`)
	testkit.Contains(t, tell(`document.getElementById("fault").textContent`), "failed", "it")
	const paper = `getComputedStyle(document.body).backgroundColor`
	light := tell(paper)
	do("dark", chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		_, err := cdp.Call(ctx, at, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	}), chromedp.EmulateViewport(400, 800))
	if dark := tell(paper); dark == light {
		t.Errorf("light and dark are %s", dark)
	}
	testkit.Equal(t, tell(`String(document.documentElement.scrollWidth)`), "400", "at 400 pixels it")
	testkit.Equal(t, tell(others), "elsewhere: ")
	mu.Lock()
	defer mu.Unlock()
	for _, w := range wrong {
		// What was refused on purpose, and advice to who looks at pixels, as this test does.
		if !strings.Contains(w, "422") && !strings.Contains(w, "willReadFrequently") {
			t.Error(w)
		}
	}
}
