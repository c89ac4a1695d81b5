package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// An emulator of AMX tiles for processors that have none: runEmulated traces a program, and where an instruction of
// AMX-TILE or AMX-BF16 faults, does what Intel's manual says that it does. It is slow.

const (
	tiles    = 8
	maxRows  = 16
	rowBytes = 64
)

// A state is the tile state of one thread. It is in its initial state, without tiles, until it is configured.
type state struct {
	configured bool
	rows, cols [tiles]int // cols in bytes
	data       [tiles][maxRows][rowBytes]byte
}

// memory is that of the traced program: n blocks of size bytes, stride apart.
type memory interface {
	read(dst []byte, addr uint64, n, size int, stride int64) error
	write(src []byte, addr uint64, n, size int, stride int64) error
}

// configure is LDTILECFG.
func (s *state) configure(c [64]byte) error {
	*s = state{}
	if c[0] == 0 {
		return nil
	}
	if c[0] != 1 || c[1] != 0 {
		return fmt.Errorf("palette %d, start row %d", c[0], c[1])
	}
	for i, b := range c {
		if b != 0 && (i >= 2 && i < 16 || i >= 32 && i < 48 || i >= 56) {
			return fmt.Errorf("reserved byte %d of the configuration is %d", i, b)
		}
	}
	for t := range tiles {
		s.cols[t], s.rows[t] = int(binary.LittleEndian.Uint16(c[16+2*t:])), int(c[48+t])
		if s.cols[t] > rowBytes || s.rows[t] > maxRows || (s.cols[t] == 0) != (s.rows[t] == 0) {
			return fmt.Errorf("tile %d has %d rows of %d bytes", t, s.rows[t], s.cols[t])
		}
	}
	s.configured = true
	return nil
}

func (s *state) need(list ...int) error {
	for _, t := range list {
		if !s.configured || s.rows[t] == 0 {
			return fmt.Errorf("tile %d is not configured", t)
		}
	}
	return nil
}

func (s *state) zero(t int) error {
	s.data[t] = [maxRows][rowBytes]byte{}
	return s.need(t)
}

// load is TILELOADD: rows beyond the tile's and bytes beyond a row's become 0.
func (s *state) load(t int, m memory, addr uint64, stride int64) error {
	if err := s.zero(t); err != nil {
		return err
	}
	n, size := s.rows[t], s.cols[t]
	buf := make([]byte, n*size)
	if err := m.read(buf, addr, n, size, stride); err != nil {
		return err
	}
	for r := range n {
		copy(s.data[t][r][:size], buf[r*size:])
	}
	return nil
}

// store is TILESTORED.
func (s *state) store(t int, m memory, addr uint64, stride int64) error {
	if err := s.need(t); err != nil {
		return err
	}
	n, size := s.rows[t], s.cols[t]
	buf := make([]byte, n*size)
	for r := range n {
		copy(buf[r*size:], s.data[t][r][:size])
	}
	return m.write(buf, addr, n, size, stride)
}

// dot is TDPBF16PS: C += A·B, where a word of A and B is a pair of bfloat16 numbers, a row of A lies along the sum and
// a column of B too. For each element of C the products of first numbers are summed with fused steps, those of second
// ones apart, and the sum of both is added to C.
func (s *state) dot(c, a, b int) error {
	if err := s.need(c, a, b); err != nil {
		return err
	}
	if a == b || a == c || b == c {
		return fmt.Errorf("tiles %d, %d and %d are not distinct", c, a, b)
	}
	if s.rows[c] != s.rows[a] || s.cols[c] != s.cols[b] || s.cols[a] != 4*s.rows[b] || s.cols[a]%4 != 0 ||
		s.cols[b]%4 != 0 {
		return fmt.Errorf("shapes do not fit: %d×%d += %d×%d · %d×%d bytes", s.rows[c], s.cols[c], s.rows[a], s.cols[a],
			s.rows[b], s.cols[b])
	}
	half := func(t, r, i int) float64 {
		return float64(flush(math.Float32frombits(uint32(binary.LittleEndian.Uint16(s.data[t][r][2*i:])) << 16)))
	}
	for m := range s.rows[c] {
		for n := range s.cols[c] / 4 {
			var sum [2]float32
			for k := range s.cols[a] / 4 {
				for i := range sum {
					// The product is exact; its sum rounds to 53 bits before it
					// rounds to 24, which differs once in 2²⁹ times.
					sum[i] = flush(float32(float64(sum[i]) + half(a, m, 2*k+i)*half(b, k, 2*n+i)))
				}
			}
			at := s.data[c][m][4*n:]
			old := flush(math.Float32frombits(binary.LittleEndian.Uint32(at)))
			binary.LittleEndian.PutUint32(at, math.Float32bits(flush(old+flush(sum[0]+sum[1]))))
		}
	}
	return nil
}

// flush takes what is below the normal numbers for 0.
func flush(x float32) float32 {
	if b := math.Float32bits(x); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return x
}

// Mandatory prefixes, as the field pp of VEX has them.
const (
	prefixNone = 0
	prefixF3   = 2
	prefixF2   = 3
)

// An instruction is one of those that are emulated, decoded.
type instruction struct {
	op, pp   byte
	register bool // the operand rm is a register
	reg, rm  int
	v        int
	base     int // general registers of an address; index −1 without
	index    int
	disp     int64
	length   int
}

// decode decodes a three-byte VEX instruction of map 0F38, or reports that the
// code holds none. Addresses without a base or relative to RIP are none here.
func decode(code []byte) (in instruction, ok bool) {
	if len(code) < 15 || code[0] != 0xC4 || code[1]&31 != 2 || code[2]&0x84 != 0 { // W and L are 0
		return in, false
	}
	r, x, b := int(^code[1]>>7&1), int(^code[1]>>6&1), int(^code[1]>>5&1)
	modrm := code[4]
	in = instruction{
		op: code[3], pp: code[2] & 3, v: int(^code[2] >> 3 & 15), index: -1, length: 5,
		reg: r<<3 | int(modrm>>3&7), rm: b<<3 | int(modrm&7), register: modrm>>6 == 3,
	}
	if in.register {
		return in, true
	}
	in.base = in.rm
	if modrm&7 == 4 {
		sib := code[5]
		in.length++
		in.base = b<<3 | int(sib&7)
		if i := x<<3 | int(sib>>3&7); i != 4 {
			in.index = i
		}
		if sib>>6 != 0 {
			return in, false
		}
	}
	switch modrm >> 6 {
	case 0:
		if in.base&7 == 5 {
			return in, false
		}
	case 1:
		in.disp = int64(int8(code[in.length]))
		in.length++
	case 2:
		in.disp = int64(int32(binary.LittleEndian.Uint32(code[in.length:])))
		in.length += 4
	}
	return in, true
}

// do executes the instruction, and reports whether it is one of AMX.
func (s *state) do(in instruction, general *[16]uint64, m memory) (known bool, err error) {
	addr, stride := uint64(0), int64(0)
	if !in.register {
		addr = general[in.base] + uint64(in.disp)
		if in.index >= 0 {
			stride = int64(general[in.index])
		}
	}
	if in.reg >= tiles {
		return false, nil
	}
	switch in.op {
	case 0x49:
		switch {
		case in.pp == prefixF2 && in.register && in.rm == 0:
			return true, s.zero(in.reg)
		case in.pp == prefixNone && in.register && in.reg == 0 && in.rm == 0:
			*s = state{}
			return true, nil
		case in.pp == prefixNone && !in.register && in.reg == 0:
			var c [64]byte
			if err := m.read(c[:], addr+uint64(stride), 1, len(c), 0); err != nil {
				return true, err
			}
			return true, s.configure(c)
		}
	case 0x4B:
		switch {
		case in.pp == prefixF2 && !in.register:
			return true, s.load(in.reg, m, addr, stride)
		case in.pp == prefixF3 && !in.register:
			return true, s.store(in.reg, m, addr, stride)
		}
	case 0x5C:
		if in.pp == prefixF3 && in.register && in.rm < tiles && in.v < tiles {
			return true, s.dot(in.reg, in.rm, in.v)
		}
	}
	return false, nil
}

// An emulation is what a traced program did.
type emulation struct {
	ExitCode     int
	Instructions int // emulated
	Dots         int // of them, TDPBF16PS
}

// errNoTracing says that this process may not trace another.
var errNoTracing = fmt.Errorf("tracing is not permitted here")

// runEmulated runs a program to its end with tiles emulated, its output going to out. A
// faulty use of tiles, and tiles in use when a thread ends, are errors.
func runEmulated(out *os.File, env []string, name string, args ...string) (emulation, error) {
	runtime.LockOSThread() // all requests come from the thread that started the program
	defer runtime.UnlockOSThread()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		if os.IsPermission(err) {
			return emulation{}, errNoTracing
		}
		return emulation{}, err
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
	report  emulation
}

// follow waits for stops of any thread and resumes it, until the program ends.
func (t *tracer) follow() error {
	var ws unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &ws, unix.WALL, nil); err != nil {
		return fmt.Errorf("waiting for the program to start: %w", err)
	}
	if err := unix.PtraceSetOptions(t.pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return errNoTracing
	}
	for tid, signal := t.pid, 0; ; {
		// A thread may have ended meanwhile, killed by another's exit.
		if err := unix.PtraceCont(tid, signal); err != nil && err != unix.ESRCH {
			return fmt.Errorf("resuming thread %d: %w", tid, err)
		}
		var err error
		for {
			tid, err = unix.Wait4(-t.pid, &ws, unix.WALL, nil)
			if err == nil && !ws.Stopped() {
				if s := t.threads[tid]; s != nil && s.configured {
					return fmt.Errorf("thread %d ended with its tiles in use", tid)
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
			return fmt.Errorf("waiting for a thread: %w", err)
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
			return 0, fmt.Errorf("thread %d: %w", tid, err)
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
		return errNoTracing
	}
	if err == nil && moved != len(local) {
		err = fmt.Errorf("%d of %d bytes at %#x, %d rows %d apart, are not mapped", len(local)-moved, len(local),
			addr, n, stride)
	}
	return err
}
