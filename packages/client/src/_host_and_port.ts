/**
 * Host and port as they stand in a URL: brackets around an IPv6 address, the port if there is one.
 *
 * @param address As `parseCapabilityUrl` returns it.
 */
export function hostAndPort({ host, port }: { host: string; port: number | undefined }): string {
  const shown = host.includes(":") ? `[${host}]` : host;
  return port === undefined ? shown : `${shown}:${String(port)}`;
}
