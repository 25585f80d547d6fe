/**
 * Packages that are being written: they build and type-check, but they are in no list of what there is, their tests and
 * style are not part of the gate, and nothing may depend on them. A package leaves this list when its issue is resolved.
 */
export const UNFINISHED = [];
