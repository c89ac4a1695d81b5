package amxtest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Report is what a traced program did.
type Report struct {
	ExitCode     int
	Instructions int // emulated
	Dots         int // of them, TDPBF16PS
}

// ErrPermission says that this process may not trace another.
var ErrPermission = fmt.Errorf("amxtest: tracing is not permitted here")

// Run runs a program to its end with tiles emulated, its output going to out. A
// faulty use of tiles, and tiles in use when a thread ends, are errors.
func Run(out *os.File, env []string, name string, args ...string) (Report, error) {
	runtime.LockOSThread() // all requests come from the thread that started the program
	defer runtime.UnlockOSThread()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		if os.IsPermission(err) {
			return Report{}, ErrPermission
		}
		return Report{}, err
	}
	t := &tracer{pid: cmd.Process.Pid, threads: map[int]*state{}}
	defer func() { _ = cmd.Process.Release() }()
	err := t.follow()
	if err != nil {
		t.kill()
	}
	return t.report, err
}

// kill ends the program and waits for its threads.
func (t *tracer) kill() {
	_ = unix.Kill(t.pid, unix.SIGKILL)
	for {
		if _, err := unix.Wait4(-t.pid, nil, unix.WALL, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

type tracer struct {
	pid     int
	threads map[int]*state
	report  Report
}

// follow waits for stops of any thread and resumes it, until the program ends.
func (t *tracer) follow() error {
	var ws unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &ws, unix.WALL, nil); err != nil {
		return fmt.Errorf("amxtest: waiting for the program to start: %w", err)
	}
	if err := unix.PtraceSetOptions(t.pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return ErrPermission
	}
	for tid, signal := t.pid, 0; ; {
		// A thread may have ended meanwhile, killed by another's exit.
		if err := unix.PtraceCont(tid, signal); err != nil && err != unix.ESRCH {
			return fmt.Errorf("amxtest: resuming thread %d: %w", tid, err)
		}
		var err error
		for {
			tid, err = unix.Wait4(-t.pid, &ws, unix.WALL, nil)
			if err == nil && !ws.Stopped() {
				if s := t.threads[tid]; s != nil && s.configured {
					return fmt.Errorf("amxtest: thread %d ended with its tiles in use", tid)
				}
				if tid != t.pid {
					continue
				}
				t.report.ExitCode = ws.ExitStatus()
				return nil
			}
			if err != unix.EINTR {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("amxtest: waiting for a thread: %w", err)
		}
		if signal, err = t.stopped(tid, ws.StopSignal()); err != nil {
			return err
		}
	}
}

// stopped handles a stop and returns the signal to resume with.
func (t *tracer) stopped(tid int, signal unix.Signal) (int, error) {
	switch signal {
	case unix.SIGTRAP, unix.SIGSTOP: // a new thread, seen by both
		return 0, nil
	case unix.SIGILL:
		known, err := t.emulate(tid)
		if err != nil {
			return 0, fmt.Errorf("amxtest: thread %d: %w", tid, err)
		}
		if known {
			return 0, nil
		}
	}
	return int(signal), nil
}

// emulate executes the instruction that a thread stopped at, if it is one of AMX.
func (t *tracer) emulate(tid int) (known bool, err error) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return false, err
	}
	code := make([]byte, 15)
	if err := process(t.pid).read(code, regs.Rip, 1, len(code), 0); err != nil {
		return false, err
	}
	in, ok := decode(code)
	if !ok {
		return false, nil
	}
	s := t.threads[tid]
	if s == nil {
		s = new(state)
		t.threads[tid] = s
	}
	general := [16]uint64{
		regs.Rax, regs.Rcx, regs.Rdx, regs.Rbx, regs.Rsp, regs.Rbp, regs.Rsi, regs.Rdi,
		regs.R8, regs.R9, regs.R10, regs.R11, regs.R12, regs.R13, regs.R14, regs.R15,
	}
	if known, err = s.do(in, &general, process(t.pid)); !known || err != nil {
		return known, err
	}
	t.report.Instructions++
	if in.op == 0x5C {
		t.report.Dots++
	}
	regs.Rip += uint64(in.length)
	return true, unix.PtraceSetRegs(tid, &regs)
}

// process is the memory of a process, by its id.
type process int

func (p process) read(dst []byte, addr uint64, n, size int, stride int64) error {
	return p.move(unix.ProcessVMReadv, dst, addr, n, size, stride)
}

func (p process) write(src []byte, addr uint64, n, size int, stride int64) error {
	return p.move(unix.ProcessVMWritev, src, addr, n, size, stride)
}

func (p process) move(f func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error), local []byte, addr uint64, n,
	size int, stride int64) error {
	iov := unix.Iovec{Base: &local[0]}
	iov.SetLen(len(local))
	var remote []unix.RemoteIovec
	for i := range n {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(addr + uint64(int64(i)*stride)), Len: size})
	}
	moved, err := f(int(p), []unix.Iovec{iov}, remote, 0)
	if err == unix.EPERM || err == unix.ENOSYS {
		return ErrPermission
	}
	if err == nil && moved != len(local) {
		err = fmt.Errorf("%d of %d bytes at %#x, %d rows %d apart, are not mapped", len(local)-moved, len(local),
			addr, n, stride)
	}
	return err
}
