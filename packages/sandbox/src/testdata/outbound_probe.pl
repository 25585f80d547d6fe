# Tries to reach each of host:port by TCP and UDP, plainly and by what a socket may ask for to get around the routes; all at
# once, a line each: "reached <what> <how>: <words>" or "denied <what> <how>: <why>".
use strict;
use warnings;
use Socket;

sub index_of {
    my ($name) = @_;
    open my $f, '<', '/proc/net/if_inet6' or return 2;
    for (<$f>) { my @words = split; return hex $words[1] if $words[5] eq $name }
    return 2;
}

my $index = pack 'N', index_of('eth0');
my $detour = pack 'C3 a4 C', 131, 7, 4, inet_aton('192.175.48.1'), 0;    # loose source and record route
my %ask = (
    'plainly'       => sub { 1 },
    'by the device' => sub { setsockopt $_[0], SOL_SOCKET, 25, "eth0\0" },    # SO_BINDTODEVICE
    'by its index'  => sub { setsockopt $_[0], 0, 50, $index },               # IP_UNICAST_IF
    'by a detour'   => sub { setsockopt $_[0], 0, 4, $detour },               # IP_OPTIONS
);

sub ask_tcp {
    my ($s, $to) = @_;
    connect $s, $to or die "$!\n";
    syswrite $s, "GET / HTTP/1.0\r\n\r\n" or die "$!\n";
    my $answer = '';
    while (sysread $s, my $part, 4096) { $answer .= $part }
    return $answer;
}

sub ask_udp {
    my ($s, $to) = @_;
    setsockopt $s, SOL_SOCKET, SO_BROADCAST, 1;
    send $s, 'hello', 0, $to or die "$!\n";
    sysread $s, my $answer, 4096 or die "$!\n";
    return $answer;
}

sub try_to {
    my ($kind, $target, $how) = @_;
    my ($host, $port) = split /:/, $target;
    my $words = eval {
        local $SIG{ALRM} = sub { die "nothing within 5 s\n" };
        alarm 5;
        socket my $s, AF_INET, $kind eq 'tcp' ? SOCK_STREAM : SOCK_DGRAM, 0 or die "$!\n";
        $ask{$how}->($s) or die "$!\n";
        my $to = pack_sockaddr_in($port, inet_aton($host));
        my $answer = $kind eq 'tcp' ? ask_tcp($s, $to) : ask_udp($s, $to);
        $answer =~ /(internet|host)/ ? $1 : die "no answer\n";
    };
    alarm 0;
    chomp(my $why = $@);
    syswrite STDOUT, $words ? "reached $kind $target $how: $words\n" : "denied $kind $target $how: $why\n";
}

for my $target (@ARGV) {
    for my $kind ('tcp', 'udp') {
        for my $how (sort keys %ask) {
            my $pid = fork // die "fork: $!";
            next if $pid;
            try_to($kind, $target, $how);
            exit;
        }
    }
}
1 while wait != -1;
