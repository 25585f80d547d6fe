# What an agent might try, one line each: "denied <what>: <how>", "ALLOWED <what>", or "bounded <what>" for what
# processes of one user can do to each other. Run inside the sandbox. Arguments are name=value: system call numbers as
# sys_<name>, and what the host has set up to be found: secret, hidden, port, port6, abstract, socket, mark, shm, ipc.
use strict;
use warnings;
use Errno;
use Fcntl;
use POSIX ();
use Socket;

$| = 1;
my %arg = map { /^(\w+)=(.*)$/s ? ($1 => $2) : () } @ARGV;

# The attempt returns something true if it got what it wanted.
sub try_to {
    my ($what, $attempt) = @_;
    $! = 0;
    my $got = eval { local $SIG{ALRM} = sub { die "nothing within 3 s\n" }; alarm 3; my $r = $attempt->(); alarm 0; $r };
    my $how = $@ || "$!" || 'nothing there';
    chomp $how;
    print $got ? "ALLOWED $what\n" : "denied $what: $how\n";
}

sub readable { my ($path) = @_; open(my $f, '<', $path) or return 0; defined(sysread $f, my $x, 1) }
sub listable { my ($path) = @_; opendir(my $d, $path) or return 0; scalar grep { !/^\.\.?$/ } readdir $d }
sub writable { my ($path, $flags) = @_; sysopen(my $f, $path, O_WRONLY | ($flags || 0)) ? 1 : 0 }
sub created { writable($_[0], O_CREAT) }
sub slurp { my ($path) = @_; open(my $f, '<', $path) or return ''; local $/; my $x = <$f>; defined $x ? $x : '' }

sub sys {
    my ($name, @args) = @_;
    my $number = $arg{"sys_$name"};
    return do { $! = POSIX::ENOSYS(); -1 } unless defined $number;
    return syscall($number + 0, @args);
}
# A system call that is refused as such: an error about its arguments would mean that it was let through.
sub lets { my $r = sys(@_); $r >= 0 || $!{EFAULT} || $!{EINVAL} || $!{EBADF} || $!{E2BIG} || $!{ENOENT} }

sub in_child {
    my ($attempt) = @_;
    my $pid = fork // die 'fork';
    if (!$pid) { my $ok = $attempt->(); POSIX::_exit($ok ? 0 : ($! + 0 || 255)) }
    waitpid $pid, 0;
    my $code = $? >> 8;
    $! = $code;
    return $? == 0;
}

sub connects { my ($domain, $type, $address) = @_; socket(my $s, $domain, $type, 0) or return 0; connect $s, $address }
sub opens { my ($family, $type) = @_; socket(my $s, $family, $type, 0) }
sub tcp { my ($ip, $port) = @_; connects(AF_INET, SOCK_STREAM, pack_sockaddr_in($port, inet_aton($ip))) }

# ---- files of the host ----
try_to "list /root", sub { listable('/root') };
try_to "list /home", sub { listable('/home') };
try_to "list /var", sub { grep { $_ ne 'tmp' } map { s{.*/}{}r } glob '/var/*' };
try_to "list /srv, /mnt, /media, /opt, /boot", sub { grep { listable($_) } qw(/srv /mnt /media /opt /boot) };
try_to "find the host's /run", sub { grep { $_ ne '/run/envport' } glob '/run/*' };
try_to "read a secret in the host's /tmp", sub { readable($arg{secret}) };
try_to "read it through /proc/1/root", sub { readable("/proc/1/root$arg{secret}") };
try_to "read it through /proc/1/cwd", sub { readable("/proc/1/cwd/$arg{secret}") };
try_to "read it through an inherited descriptor", sub { grep { -f $_ && slurp($_) =~ /SECRET-OF-THE-HOST/ } glob '/proc/[0-9]*/fd/*' };
try_to "read it through a link in the workspace", sub { unlink 'l'; symlink $arg{secret}, 'l'; readable('l') };
try_to "read it through a link up to the root", sub { unlink 'u'; symlink '../' x 40 . $arg{secret}, 'u'; readable('u') };
try_to "read it through /oldroot", sub { readable("/oldroot$arg{secret}") };
try_to "read a hidden path", sub { $arg{hidden} ? readable($arg{hidden}) : 0 };
try_to "read /etc/shadow", sub { readable('/etc/shadow') };
try_to "read /etc/gshadow", sub { readable('/etc/gshadow') };
try_to "read /etc/shadow-", sub { readable('/etc/shadow-') };
try_to "read /etc/sudoers", sub { readable('/etc/sudoers') };
try_to "list /etc/ssh", sub { listable('/etc/ssh') };
try_to "list /etc/ssl/private", sub { listable('/etc/ssl/private') };
try_to "find a file that only root may read", sub { grep { -f $_ && (stat $_)[4] == 0 && !((stat _)[2] & 0044) && readable($_) } glob '/etc/*' };
try_to "write in /etc", sub { created('/etc/x') };
try_to "write in /usr", sub { created('/usr/x') };
try_to "write in /usr/bin", sub { created('/usr/bin/x') };
try_to "write in /", sub { created('/x') };
try_to "write in /run", sub { created('/run/x') };
try_to "write in /dev", sub { created('/dev/x') };
try_to "write over the spawn server", sub { writable('/run/envport/agent.cjs') };
try_to "write over node", sub { writable('/run/envport/bin/node') };
try_to "rename the spawn server's folder", sub { rename '/run/envport', '/run/other' };
try_to "make a file in the masked /etc/ssh", sub { created('/etc/ssh/x') };
try_to "see the host's /dev/shm", sub { readable("/dev/shm/$arg{shm}") };

# ---- the kernel's files ----
for my $path (qw(sys/kernel/core_pattern sys/kernel/modprobe sys/kernel/hostname sys/vm/overcommit_memory sys/fs/file-max
    sys/kernel/dmesg_restrict sysrq-trigger irq/default_smp_affinity)) {
    try_to "write /proc/$path", sub { writable("/proc/$path") };
}
try_to "write uid_map", sub { open(my $f, '>', '/proc/self/uid_map') or return 0; syswrite $f, "0 0 1\n" };
try_to "lower the own oom score", sub { open(my $f, '>', '/proc/self/oom_score_adj') or return 0; syswrite $f, "-999\n" };
try_to "read /proc/kcore", sub { readable('/proc/kcore') };
try_to "read /proc/kmsg", sub { sysopen(my $f, '/proc/kmsg', O_RDONLY | O_NONBLOCK) };
try_to "read kernel addresses", sub { slurp('/proc/kallsyms') =~ /^(?!0+ )[0-9a-f]+ /m };
try_to "read /proc/$_", do { my $n = $_; sub { slurp("/proc/$n") } } for qw(keys key-users timer_list sched_debug);
try_to "list /sys", sub { listable('/sys') };
try_to "see a process of the host", sub { grep { slurp($_) =~ /\Q$arg{mark}\E/ } grep { !/\/(self|thread-self|$$)\// } glob '/proc/*/cmdline' };
try_to "see more processes than its own", sub { my @p = grep { /^\d+$/ } map { s{/proc/}{}r } glob '/proc/[0-9]*'; @p > 8 };
try_to "read the server's environment", sub { grep { slurp($_) =~ /CONTROL_TOKEN/ } glob '/proc/[0-9]*/environ' };
try_to "find the server's token in its own environment", sub { grep { /TOKEN|HUD_/ } keys %ENV };
try_to "read host paths from a command line", sub { grep { /--ro-bind|\Q$arg{secret}\E/ } map { slurp($_) } grep { !m{/(self|thread-self|$$)/} } glob '/proc/*/cmdline' };

# ---- devices ----
my %known = map { $_ => 1 } qw(core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero console);
try_to "find another device", sub { grep { !$known{$_} } map { s{.*/}{}r } glob '/dev/*' };
try_to "open /dev/$_", do { my $d = $_; sub { sysopen(my $f, "/dev/$d", O_RDWR) } } for qw(kvm fuse mem kmsg loop-control vda sda net/tun vsock vhost-vsock uinput);
try_to "make a block device", sub { sys('mknodat', -100, "/tmp/blk$$", 060600, 254 << 8) >= 0 && readable("/tmp/blk$$") };
try_to "make a character device", sub { sys('mknodat', -100, "/tmp/chr$$", 020600, (1 << 8) | 1) >= 0 && readable("/tmp/chr$$") };
try_to "see a terminal of the host", sub { grep { /\d/ } map { s{/dev/pts/}{}r } glob '/dev/pts/*' };
try_to "have a controlling terminal", sub { sysopen(my $f, '/dev/tty', O_RDWR) };

# ---- mounts and namespaces ----
try_to "mount a tmpfs", sub { sys('mount', 'x', '/tmp', 'tmpfs', 0, 0) >= 0 };
try_to "mount /proc anew", sub { sys('mount', 'proc', '/tmp', 'proc', 0, 0) >= 0 };
try_to "make /usr writable", sub { sys('mount', 0, '/usr', 0, 0x1020, 0) >= 0 };
try_to "make / writable", sub { sys('mount', 0, '/', 0, 0x1020, 0) >= 0 };
try_to "unmount a mask", sub { sys('umount2', '/etc/shadow', 2) >= 0 };
try_to "chroot", sub { sys('chroot', '/tmp') >= 0 };
try_to "pivot_root", sub { sys('pivot_root', '/tmp', '/tmp') >= 0 };
try_to "open_tree", sub { sys('open_tree', -100, '/', 1) >= 0 };
try_to "$_", do { my $n = $_; sub { lets($n, -1, 0, 0, 0, 0) } } for qw(fsopen fsmount fsconfig fspick move_mount mount_setattr);
my %flag = (user => 0x10000000, mount => 0x20000, net => 0x40000000, pid => 0x20000000, uts => 0x4000000, ipc => 0x8000000, cgroup => 0x2000000, time => 0x80);
for my $kind (sort keys %flag) {
    try_to "unshare a $kind namespace", sub { in_child(sub { sys('unshare', $flag{$kind}) >= 0 }) };
}
try_to "clone into a user namespace", sub { my $pid = sys('clone', 0x10000000 | 17, 0, 0, 0, 0); POSIX::_exit(0) if $pid == 0; $pid > 0 };
try_to "clone3", sub { lets('clone3', 0, 0) };
try_to "join a namespace", sub { open(my $f, '<', '/proc/1/ns/net') or return 0; sys('setns', fileno $f, 0) >= 0 };
try_to "change the host name", sub { sys('sethostname', 'x', 1) >= 0 };
try_to "change the domain name", sub { sys('setdomainname', 'x', 1) >= 0 };

# ---- rights ----
try_to "become root", sub { sys('setuid', 0) >= 0 };
try_to "take root's group", sub { sys('setgid', 0) >= 0 };
try_to "take groups", sub { my $list = pack 'I', 0; sys('setgroups', 1, $list) >= 0 };
for my $process ('self', 1, 2) {
    try_to "have a capability in process $process", sub { slurp("/proc/$process/status") =~ /^Cap(Inh|Prm|Eff|Bnd|Amb):\s+0*[1-9a-f]/m };
    try_to "gain rights by a set-user-ID program in process $process", sub { slurp("/proc/$process/status") !~ /^NoNewPrivs:\s+1$/m };
    try_to "run without a filter in process $process", sub { slurp("/proc/$process/status") !~ /^Seccomp:\s+2$/m };
}
try_to "mount with the set-user-ID mount", sub { system('mount -t tmpfs x /tmp >/dev/null 2>&1') == 0 };
try_to "raise the own priority", sub { setpriority(0, 0, -10) };
try_to "be scheduled in real time", sub { my $p = pack 'i', 10; sys('sched_setscheduler', 0, 1, $p) >= 0 };
try_to "raise the limit on processes", sub { my $l = pack 'Q2', 1 << 20, 1 << 20; sys('prlimit64', 0, 6, $l, 0) >= 0 };
try_to "raise the limit on core files", sub { my $l = pack 'Q2', 1 << 20, 1 << 20; sys('prlimit64', 0, 4, $l, 0) >= 0 };

# ---- the kernel's calls that namespaces do not contain ----
try_to "read the session keyring", sub { sys('keyctl', 0, -3, 0) >= 0 };
try_to "add a key", sub { sys('add_key', 'user', 'k', 'v', 1, -4) >= 0 };
try_to "$_", do { my $n = $_; sub { lets($n, 0, 0, 0, 0, 0) } } for qw(request_key bpf perf_event_open userfaultfd io_uring_setup io_uring_enter
    open_by_handle_at init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct syslog
    quotactl quotactl_fd settimeofday clock_settime lookup_dcookie vhangup iopl ioperm modify_ldt);
try_to "use the x32 calls", sub { $arg{sys_x32} ? syscall($arg{sys_x32} + 0) > 0 : 0 };
my $word = "\n";
try_to "type into a terminal (TIOCSTI)", sub { ioctl(STDIN, 0x5412, $word) || !($!{EPERM}) };
try_to "paste into a console (TIOCLINUX)", sub { ioctl(STDIN, 0x541c, $word) || !($!{EPERM}) };
try_to "type with the upper half of the request set", sub { sys('ioctl', 0, 0x5412 | (1 << 32), $word) >= 0 || !($!{EPERM}) };

# ---- the network ----
my %family = (vsock => 40, packet => 17, alg => 38, tipc => 30, bluetooth => 31, can => 29, xdp => 44, rds => 21, kcm => 41);
try_to "open a $_ socket", do { my $f = $family{$_}; sub { grep { opens($f, $_) } SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, 5 } } for sort keys %family;
try_to "open a raw socket", sub { socket(my $s, AF_INET, SOCK_RAW, 1) };
try_to "connect to the control port", sub { tcp('127.0.0.1', $arg{port}) };
try_to "connect to it by another loopback address", sub { tcp('127.1.2.3', $arg{port}) };
try_to "connect to it by 0.0.0.0", sub { tcp('0.0.0.0', $arg{port}) };
try_to "connect to it by IPv6", sub { socket(my $s, AF_INET6, SOCK_STREAM, 0) or return 0; connect $s, Socket::pack_sockaddr_in6($arg{port6}, Socket::inet_pton(AF_INET6, '::1')) };
try_to "connect to it by mapped IPv4", sub { socket(my $s, AF_INET6, SOCK_STREAM, 0) or return 0; connect $s, Socket::pack_sockaddr_in6($arg{port}, Socket::inet_pton(AF_INET6, '::ffff:127.0.0.1')) };
# connect() of a datagram socket only looks up a route: nothing is sent.
try_to "have a route to $_", do { my $ip = $_; sub { connects(AF_INET, SOCK_DGRAM, pack_sockaddr_in(53, inet_aton($ip))) } } for qw(192.0.2.1 10.0.0.1 169.254.169.254 172.17.0.1 192.168.0.1);
try_to "see another interface", sub { slurp('/proc/net/dev') =~ /^\s*(?!lo:)\w+:/m };
try_to "see the host's sockets", sub { my $hex = sprintf ':%04X ', $arg{port}; (slurp('/proc/net/tcp') . slurp('/proc/net/tcp6')) =~ /$hex/ };
try_to "connect to an abstract socket", sub {
    grep { connects(AF_UNIX, SOCK_STREAM, pack($_, AF_UNIX, "\0$arg{abstract}")) } 'S a*', 'S a108';
};
try_to "see an abstract socket", sub { slurp('/proc/net/unix') =~ /\Q$arg{abstract}\E/ };
try_to "connect to a socket file", sub { connects(AF_UNIX, SOCK_STREAM, pack_sockaddr_un($arg{socket})) };
try_to "bind a privileged port", sub { socket(my $s, AF_INET, SOCK_STREAM, 0) or return 0; bind $s, pack_sockaddr_in(80, inet_aton('127.0.0.1')) };
try_to "add an address", sub {
    socket(my $s, 16, SOCK_RAW, 0) or return 0;
    my $message = pack 'L S S L L C C C C L', 24, 20, 0x405, 1, 0, AF_INET, 8, 0, 0, 1;
    send $s, $message, 0;
    sysread $s, my $reply, 4096;
    my (undef, $type, undef, undef, undef, $error) = unpack 'L S S L L l', $reply;
    $! = -$error;
    $error == 0;
};
for my $request ("CONNECT 127.0.0.1:$arg{port} HTTP/1.1", "CONNECT localhost:$arg{port} HTTP/1.1", "CONNECT [::1]:$arg{port6} HTTP/1.1",
    "GET http://127.0.0.1:$arg{port}/ HTTP/1.1", "GET http://0:$arg{port}/ HTTP/1.1", "CONNECT 169.254.169.254:80 HTTP/1.1") {
    try_to "pass the proxy by $request", sub {
        socket(my $s, AF_INET, SOCK_STREAM, 0) or return 0;
        connect $s, pack_sockaddr_in(3128, inet_aton('127.0.0.1')) or return 0;
        syswrite $s, "$request\r\nHost: x\r\n\r\n";
        sysread $s, my $answer, 4096 or return 0;
        $! = POSIX::EACCES();
        $answer !~ m{^HTTP/1.1 [45]};
    };
}
try_to "find shared memory of the host", sub { my $ds = "\0" x 256; sys('shmctl', $arg{ipc} + 0, 2, $ds) >= 0 };

# ---- what one user's processes can do to each other; it ends at the sandbox ----
for my $pid (1, 2) {
    my $seized = sys('ptrace', 0x4206, $pid, 0, 0) >= 0;
    sys('ptrace', 17, $pid, 0, 0) if $seized;
    print "bounded ptrace of process $pid: ", ($seized ? 'possible' : "refused, $!"), "\n";
    print "bounded signal to process $pid: ", (kill(0, $pid) ? 'possible' : "refused, $!"), "\n";
}
