import { NIC_KINDS, PRECISIONS } from '@coxswain/planner';
import { type Command, Option } from 'commander';
import { island } from './plan-request.ts';
import { hours, positiveNumber, tokenCount } from '../options/quantities.ts';
import { wholeNumber } from '../options/whole-number.ts';

/** Model, batch and machines, as every command takes them that asks the planner. */
export function requestOptions(command: Command): Command {
  return command
    .option('-f, --file <file>', 'plan request in YAML or JSON; options override it')
    .option('--model <name|file>', 'preset, Hugging Face config.json, or a model shape in YAML or JSON')
    .option('--gpu <name>', 'GPU preset, such as h100')
    .option('--gpus <count>', 'number of GPUs available', wholeNumber)
    .option('--gpus-per-node <count>', 'GPUs per node (default: usual for the GPU)', wholeNumber)
    .option('--scale-up-domain <count>', 'GPUs in one NVLink or similar domain', wholeNumber)
    .option('--nic-gbps <gbps>', 'network per GPU in Gb/s, e.g. 400', positiveNumber)
    .addOption(new Option('--nic <kind>', 'kind of network').choices(NIC_KINDS))
    .option(
      '--island <facts>',
      'gpus=256[,gpu=a100][,gbps=200][,nic=roce][,speed=0.8]; once per island of unequal GPUs or networks',
      island,
    )
    .option('--stages-in-one-island', 'keep each pipeline stage inside one island; islands may have GPUs left over')
    .option('--between-islands-gbps <gbps>', 'network per GPU between islands', positiveNumber)
    .option('--profile <file>', 'profile that `coxswain calibrate` measured on the cluster')
    .option('--usd-per-gpu-hour <usd>', 'price instead of the preset’s', positiveNumber)
    .option('--global-batch <samples>', 'samples per step', wholeNumber)
    .option('--seq <tokens>', 'tokens per sample', wholeNumber)
    .addOption(
      new Option(
        '--precision <format>',
        'format of matrix products (default: bf16; fp16 on GPUs without bf16)',
      ).choices(PRECISIONS),
    )
    .option(
      '--stack <engine release>',
      'engine as `coxswain engines` lists it, with a release, or what `coxswain presets stacks` lists',
    )
    .option('--tokens <count>', 'tokens of the whole training, e.g. 15T', tokenCount)
    .option('--deadline <duration>', 'maximum duration of the training, e.g. 30d', hours)
    .option('--margin <share>', 'share of GPU memory to leave free, e.g. 0.05', positiveNumber)
    .option('--json', 'the same as --output json');
}

/** Which layout of a file, and how it is run. */
export function layoutOptions(command: Command): Command {
  return command
    .option('--role <name>', 'role to use, if the file describes a job with several roles')
    .option('--micro-batch <samples>', 'samples per pass (default: from the file, else 1)', wholeNumber);
}
