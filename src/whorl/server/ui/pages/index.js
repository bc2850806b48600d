// Every page, by the first part of its address.

import { job } from "./job.js";
import { jobs } from "./jobs.js";
import { submit } from "./submit.js";
import { tables } from "./tables.js";
import { taskManagers } from "./taskmanagers.js";

/** #/jobs is the list, #/jobs/ID one of them. */
const either = (given) => (given.parts.length ? job : jobs);

export const pages = {
  jobs: {
    every: 2,
    title: (given, data) => either(given).title(given, data),
    load: (given) => either(given).load(given),
    view: (data, context) => either(context.route).view(data, context),
    gone: (error, context) => either(context.route).gone?.(error, context),
    keeps: (before, after) => Boolean(before?.parts.length) && before.parts[0] === after.parts[0] && job.keeps(before, after),
  },
  tables,
  taskmanagers: taskManagers,
  submit,
};
