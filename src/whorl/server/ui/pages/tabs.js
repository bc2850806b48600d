// The views of a job, in the order in which they are shown.

export const TABS = [
  ["graph", "Graph"],
  ["components", "Components"],
  ["partitions", "Partitions"],
  ["offsets", "Offsets"],
  ["checkpoints", "Checkpoints"],
  ["charts", "Charts"],
  ["feedback", "Feedback"],
  ["exceptions", "Exceptions"],
  ["logs", "Logs"],
  ["state", "State"],
  ["config", "Config"],
];
