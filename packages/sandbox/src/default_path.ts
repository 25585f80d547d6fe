/** `PATH` of commands unless `env` says otherwise; Node is at the end. */
export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/envport/bin";
