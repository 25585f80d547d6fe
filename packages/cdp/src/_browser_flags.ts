/** Words that are ours to say. */
const RESERVED =
  /^--?(?:remote-debugging-|remote-allow-origins|user-data-dir|headless|window-size|proxy-server)/;
/** Nothing is asked for on the network but what pages ask for. */
const QUIET = [
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-sync",
  "--disable-domain-reliability",
  "--disable-breakpad",
  "--disable-crash-reporter",
  "--metrics-recording-only",
  "--no-pings",
  "--disable-features=OptimizationHints,MediaRouter,Translate,DialMediaRouteProvider",
  "--password-store=basic",
  "--use-mock-keychain",
];

/** What the command line depends on. */
export interface FlagsRequest {
  readonly headless: boolean;
  readonly viewport: { readonly width: number; readonly height: number };
  /** The profile's folder, as the browser sees it. */
  readonly profile: string;
  readonly args: readonly string[];
  /** The proxy's port on the browser's loopback. */
  readonly proxyPort?: number | undefined;
  /** Hosts with their ports, and the ports on the browser's loopback that they mean. */
  readonly peers?: readonly { readonly address: string; readonly port: number }[] | undefined;
}

/**
 * The command line of a browser. Its port takes connections of programs on this machine only, and of no web page: that
 * would need `--remote-allow-origins`.
 */
export function browserFlags(request: FlagsRequest): string[] {
  const { headless, viewport, profile, args, proxyPort, peers = [] } = request;
  const rules = peers.map(({ address, port }) => `MAP ${address} 127.0.0.1:${String(port)}`);
  return [
    ...(headless ? ["--headless=new", "--hide-scrollbars", "--mute-audio"] : []),
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
    `--window-size=${String(viewport.width)},${String(viewport.height)}`,
    "--disable-dev-shm-usage",
    ...QUIET,
    ...(rules.length === 0 ? [] : [`--host-resolver-rules=${rules.join(",")}`]),
    ...(proxyPort === undefined ? [] : [`--proxy-server=http://127.0.0.1:${String(proxyPort)}`]),
    ...(proxyPort === undefined || peers.length === 0
      ? []
      : [`--proxy-bypass-list=${peers.map(({ address }) => address).join(";")}`]),
    ...args,
    "about:blank",
  ];
}

/**
 * Checks what a caller adds to the command line.
 *
 * @throws {TypeError} If a word is ours to say, or none.
 */
export function checkArgs(args: readonly string[]): void {
  const odd = args.find((word) => !word.startsWith("-") || RESERVED.test(word));
  if (odd === undefined) return;
  const rule = odd.startsWith("-") ? "this word is the service's own" : "its words must begin with '--'";
  throw new TypeError(`Cannot start browser with 'args' as ${rule}: current value is ${JSON.stringify(odd)}`);
}
