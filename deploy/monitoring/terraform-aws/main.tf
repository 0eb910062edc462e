# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

locals {
  tasks = merge([for queue, tasks in var.queues : { for task in tasks : "${queue}/${task}" => { queue = queue, task = task } }]...)
}

resource "aws_cloudwatch_metric_alarm" "store_away_page" {
  alarm_name          = "${var.name_prefix}store-away-page"
  alarm_description   = "The store is away (page). Workers cannot reach the store. Work goes on as far as leases reach; nothing new is leased. Bring the store back; workers go on by themselves. Runbook: ${var.runbooks_url}/store_away"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "1 while it does not answer"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "1 - up"
  }

  metric_query {
    id = "up"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_store_up"
      period      = 60
      stat        = "Maximum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "workers_absent_page" {
  alarm_name          = "${var.name_prefix}workers-absent-page"
  alarm_description   = "No worker is alive (page). Messages wait, and no worker is there to run them. Start a worker. Runbook: ${var.runbooks_url}/workers_absent"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 2
  treat_missing_data  = "breaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "messages that wait while no worker is alive"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "IF(FILL(slots, 0) > 0, 0, 1)"
  }

  metric_query {
    id = "slots"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_worker_slots"
      period      = 60
      stat        = "Maximum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "workers_crashing_ticket" {
  alarm_name          = "${var.name_prefix}workers-crashing-ticket"
  alarm_description   = "Workers die (ticket). Workers ended without saying so: killed, out of memory, or crashed by a message. Look at the memory and the exit codes of the workers. Runbook: ${var.runbooks_url}/workers_crashing"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 3, 0, value)"
    label       = "workers that died"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "crashed"
  }

  metric_query {
    id = "crashed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_workers_crashed_total"
      period      = 900
      stat        = "Sum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "workers_crashing_page" {
  alarm_name          = "${var.name_prefix}workers-crashing-page"
  alarm_description   = "Workers die (page). Workers ended without saying so: killed, out of memory, or crashed by a message. Look at the memory and the exit codes of the workers. Runbook: ${var.runbooks_url}/workers_crashing"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 3
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "workers that died"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "crashed"
  }

  metric_query {
    id = "crashed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_workers_crashed_total"
      period      = 900
      stat        = "Sum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "sweep_late_ticket" {
  alarm_name          = "${var.name_prefix}sweep-late-ticket"
  alarm_description   = "No sweep runs (ticket). Overdue leases are not returned: the messages of a worker that is gone stay where they are. Start a worker or a server: each of them sweeps. Runbook: ${var.runbooks_url}/sweep_late"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 6
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 24, 0, value)"
    label       = "time since the last sweep, in intervals"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "age / interval"
  }

  metric_query {
    id = "age"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_sweep_age_seconds"
      period      = 60
      stat        = "Minimum"
    }
  }

  metric_query {
    id = "interval"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_sweep_interval_seconds"
      period      = 60
      stat        = "Minimum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "sweep_late_page" {
  alarm_name          = "${var.name_prefix}sweep-late-page"
  alarm_description   = "No sweep runs (page). Overdue leases are not returned: the messages of a worker that is gone stay where they are. Start a worker or a server: each of them sweeps. Runbook: ${var.runbooks_url}/sweep_late"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 24
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "time since the last sweep, in intervals"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "age / interval"
  }

  metric_query {
    id = "age"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_sweep_age_seconds"
      period      = 60
      stat        = "Minimum"
    }
  }

  metric_query {
    id = "interval"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_sweep_interval_seconds"
      period      = 60
      stat        = "Minimum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "heartbeats_failing_ticket" {
  alarm_name          = "${var.name_prefix}heartbeats-failing-ticket"
  alarm_description   = "Leases cannot be renewed (ticket). Heartbeats of workers failed. A lease that is not renewed in time is lost, and its message runs again. Look at the connection between the workers and the store. Runbook: ${var.runbooks_url}/heartbeats_failing"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 2
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 50, 0, value)"
    label       = "leases whose renewal failed"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "failures"
  }

  metric_query {
    id = "failures"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_heartbeat_failures_total"
      period      = 600
      stat        = "Sum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "heartbeats_failing_page" {
  alarm_name          = "${var.name_prefix}heartbeats-failing-page"
  alarm_description   = "Leases cannot be renewed (page). Heartbeats of workers failed. A lease that is not renewed in time is lost, and its message runs again. Look at the connection between the workers and the store. Runbook: ${var.runbooks_url}/heartbeats_failing"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 50
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "leases whose renewal failed"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "failures"
  }

  metric_query {
    id = "failures"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_heartbeat_failures_total"
      period      = 600
      stat        = "Sum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "leases_lost_ticket" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}leases-lost-ticket-${each.key}"
  alarm_description   = "Leases are lost (ticket). A worker lost the lease of a message that it was running: it was silent for longer than the lease. Look at the worker that lost it: a blocked process, a suspended machine or a slow store. Runbook: ${var.runbooks_url}/leases_lost"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 10, 0, value)"
    label       = "leases that were lost while the handler ran"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "lost"
  }

  metric_query {
    id = "lost"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_lost_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "leases_lost_page" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}leases-lost-page-${each.key}"
  alarm_description   = "Leases are lost (page). A worker lost the lease of a message that it was running: it was silent for longer than the lease. Look at the worker that lost it: a blocked process, a suspended machine or a slow store. Runbook: ${var.runbooks_url}/leases_lost"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 10
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "leases that were lost while the handler ran"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "lost"
  }

  metric_query {
    id = "lost"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_lost_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "lease_use_ticket" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}lease-use-ticket-${each.key}"
  alarm_description   = "Runs use up their lease (ticket). Runs whose lease is not renewed take nearly as long as it. One that takes longer is run again by another. Switch the heartbeat on, or lengthen the lease by half. Runbook: ${var.runbooks_url}/lease_use"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.8
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 20, IF(value > 0.9 AND samples >= 20, 0, value), 0)"
    label       = "p95 of the run times over the lease, of a task whose leases are not renewed"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(runs, 0)"
  }

  metric_query {
    id         = "value"
    expression = "IF(FILL(renewed, 0) > 0, 0, use)"
  }

  metric_query {
    id = "use"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_lease_use_ratio"
      period      = 600
      stat        = "Maximum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }

  metric_query {
    id = "renewed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_lease_extensions_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }

  metric_query {
    id = "runs"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_process_duration_seconds_count"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "lease_use_page" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}lease-use-page-${each.key}"
  alarm_description   = "Runs use up their lease (page). Runs whose lease is not renewed take nearly as long as it. One that takes longer is run again by another. Switch the heartbeat on, or lengthen the lease by half. Runbook: ${var.runbooks_url}/lease_use"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.9
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 20, value, 0)"
    label       = "p95 of the run times over the lease, of a task whose leases are not renewed"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(runs, 0)"
  }

  metric_query {
    id         = "value"
    expression = "IF(FILL(renewed, 0) > 0, 0, use)"
  }

  metric_query {
    id = "use"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_lease_use_ratio"
      period      = 600
      stat        = "Maximum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }

  metric_query {
    id = "renewed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_lease_extensions_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }

  metric_query {
    id = "runs"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_process_duration_seconds_count"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.value.queue
        task  = each.value.task
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "redelivered_ticket" {
  for_each            = toset(keys(var.queues))
  alarm_name          = "${var.name_prefix}redelivered-ticket-${each.key}"
  alarm_description   = "Messages are delivered again (ticket). Messages came back because their lease had ended or their worker had died, not because a handler failed. Look whether workers die, freeze, or are killed before they have finished. Runbook: ${var.runbooks_url}/redelivered"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.02
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 100, IF(value > 0.1 AND samples >= 100, 0, value), 0)"
    label       = "messages that a sweep or a retirement returned, as a part of the deliveries of a queue"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(first, 0) + FILL(second, 0) + FILL(third, 0) + FILL(fourth, 0) + FILL(later, 0)"
  }

  metric_query {
    id         = "value"
    expression = "(FILL(overdue_ready, 0) + FILL(overdue_dead, 0) + FILL(crashed_ready, 0) + FILL(crashed_dead, 0)) / samples"
  }

  metric_query {
    id = "overdue_ready"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "overdue"
        to    = "ready"
      }
    }
  }

  metric_query {
    id = "overdue_dead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "overdue"
        to    = "dead"
      }
    }
  }

  metric_query {
    id = "crashed_ready"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "dead_worker"
        to    = "ready"
      }
    }
  }

  metric_query {
    id = "crashed_dead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "dead_worker"
        to    = "dead"
      }
    }
  }

  metric_query {
    id = "first"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "1"
      }
    }
  }

  metric_query {
    id = "second"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "2"
      }
    }
  }

  metric_query {
    id = "third"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "3"
      }
    }
  }

  metric_query {
    id = "fourth"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "4"
      }
    }
  }

  metric_query {
    id = "later"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "5+"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "redelivered_page" {
  for_each            = toset(keys(var.queues))
  alarm_name          = "${var.name_prefix}redelivered-page-${each.key}"
  alarm_description   = "Messages are delivered again (page). Messages came back because their lease had ended or their worker had died, not because a handler failed. Look whether workers die, freeze, or are killed before they have finished. Runbook: ${var.runbooks_url}/redelivered"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.1
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 100, value, 0)"
    label       = "messages that a sweep or a retirement returned, as a part of the deliveries of a queue"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(first, 0) + FILL(second, 0) + FILL(third, 0) + FILL(fourth, 0) + FILL(later, 0)"
  }

  metric_query {
    id         = "value"
    expression = "(FILL(overdue_ready, 0) + FILL(overdue_dead, 0) + FILL(crashed_ready, 0) + FILL(crashed_dead, 0)) / samples"
  }

  metric_query {
    id = "overdue_ready"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "overdue"
        to    = "ready"
      }
    }
  }

  metric_query {
    id = "overdue_dead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "overdue"
        to    = "dead"
      }
    }
  }

  metric_query {
    id = "crashed_ready"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "dead_worker"
        to    = "ready"
      }
    }
  }

  metric_query {
    id = "crashed_dead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_leases_returned_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue = each.key
        cause = "dead_worker"
        to    = "dead"
      }
    }
  }

  metric_query {
    id = "first"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "1"
      }
    }
  }

  metric_query {
    id = "second"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "2"
      }
    }
  }

  metric_query {
    id = "third"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "3"
      }
    }
  }

  metric_query {
    id = "fourth"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "4"
      }
    }
  }

  metric_query {
    id = "later"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_deliveries_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue    = each.key
        delivery = "5+"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "duplicates_show" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}duplicates-show-${each.key}"
  alarm_description   = "Finished messages come again (show). Messages that were done already came again. They were recognised and deleted, so nothing was done twice. Look at the verdict on each duplicate, then lengthen the lease, repair the deletes or give sends an id. Runbook: ${var.runbooks_url}/duplicates"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "show", [])
  ok_actions          = lookup(var.alarm_actions, "show", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 1, IF(value > 0.05 AND samples >= 200, 0, IF(value > 0.005 AND samples >= 200, 0, value)), 0)"
    label       = "suppressed duplicates, as a part of the completed messages and duplicates of a queue"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(duplicate, 0) + FILL(completed, 0)"
  }

  metric_query {
    id         = "value"
    expression = "FILL(duplicate, 0) / samples"
  }

  metric_query {
    id = "duplicate"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "duplicate"
      }
    }
  }

  metric_query {
    id = "completed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "completed"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "duplicates_ticket" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}duplicates-ticket-${each.key}"
  alarm_description   = "Finished messages come again (ticket). Messages that were done already came again. They were recognised and deleted, so nothing was done twice. Look at the verdict on each duplicate, then lengthen the lease, repair the deletes or give sends an id. Runbook: ${var.runbooks_url}/duplicates"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.005
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 200, IF(value > 0.05 AND samples >= 200, 0, value), 0)"
    label       = "suppressed duplicates, as a part of the completed messages and duplicates of a queue"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(duplicate, 0) + FILL(completed, 0)"
  }

  metric_query {
    id         = "value"
    expression = "FILL(duplicate, 0) / samples"
  }

  metric_query {
    id = "duplicate"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "duplicate"
      }
    }
  }

  metric_query {
    id = "completed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "completed"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "duplicates_page" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}duplicates-page-${each.key}"
  alarm_description   = "Finished messages come again (page). Messages that were done already came again. They were recognised and deleted, so nothing was done twice. Look at the verdict on each duplicate, then lengthen the lease, repair the deletes or give sends an id. Runbook: ${var.runbooks_url}/duplicates"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.05
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 200, value, 0)"
    label       = "suppressed duplicates, as a part of the completed messages and duplicates of a queue"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(duplicate, 0) + FILL(completed, 0)"
  }

  metric_query {
    id         = "value"
    expression = "FILL(duplicate, 0) / samples"
  }

  metric_query {
    id = "duplicate"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "duplicate"
      }
    }
  }

  metric_query {
    id = "completed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "completed"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "work_done_twice_ticket" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}work-done-twice-ticket-${each.key}"
  alarm_description   = "Work may have been done twice (ticket). A handler ran to its end although its lease was over. Another worker may have run the message meanwhile. Find out what froze the worker, and make the effect single with ctx.once. Runbook: ${var.runbooks_url}/work_done_twice"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "runs that ended after their lease was gone"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "late"
  }

  metric_query {
    id = "late"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "late_settle"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "deletion_failures_ticket" {
  for_each            = toset(keys(var.queues))
  alarm_name          = "${var.name_prefix}deletion-failures-ticket-${each.key}"
  alarm_description   = "Deletes of finished messages fail (ticket). A finished message whose delete fails comes again. A message that was already gone is no failure. Check the rights of the worker and the connection to the broker. Runbook: ${var.runbooks_url}/deletion_failures"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.01
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 100, IF(value > 0.02 AND samples >= 100, 0, value), 0)"
    label       = "deletes with an unknown or refused end, as a part of all deletes of a queue"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(unknown, 0) + FILL(deleted, 0) + FILL(gone, 0)"
  }

  metric_query {
    id         = "value"
    expression = "FILL(unknown, 0) / samples"
  }

  metric_query {
    id = "unknown"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_settlements_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue  = each.key
        result = "unknown"
      }
    }
  }

  metric_query {
    id = "deleted"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_settlements_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue  = each.key
        result = "deleted"
      }
    }
  }

  metric_query {
    id = "gone"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_settlements_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue  = each.key
        result = "already_gone"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "deletion_failures_page" {
  for_each            = toset(keys(var.queues))
  alarm_name          = "${var.name_prefix}deletion-failures-page-${each.key}"
  alarm_description   = "Deletes of finished messages fail (page). A finished message whose delete fails comes again. A message that was already gone is no failure. Check the rights of the worker and the connection to the broker. Runbook: ${var.runbooks_url}/deletion_failures"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.02
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 100, value, 0)"
    label       = "deletes with an unknown or refused end, as a part of all deletes of a queue"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(unknown, 0) + FILL(deleted, 0) + FILL(gone, 0)"
  }

  metric_query {
    id         = "value"
    expression = "FILL(unknown, 0) / samples"
  }

  metric_query {
    id = "unknown"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_settlements_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue  = each.key
        result = "unknown"
      }
    }
  }

  metric_query {
    id = "deleted"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_settlements_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue  = each.key
        result = "deleted"
      }
    }
  }

  metric_query {
    id = "gone"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_settlements_total"
      period      = 600
      stat        = "Sum"
      dimensions = {
        queue  = each.key
        result = "already_gone"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "dead_letters_show" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}dead-letters-show-${each.key}"
  alarm_description   = "Dead letters grow (show). Messages used up their attempts, were rejected, or were put aside. Look at the groups of dead letters, repair the cause, then redrive them. Runbook: ${var.runbooks_url}/dead_letters"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "show", [])
  ok_actions          = lookup(var.alarm_actions, "show", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 100, 0, IF(value > 10, 0, value))"
    label       = "messages that became dead letters"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "dead"
  }

  metric_query {
    id = "dead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "dead"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "dead_letters_ticket" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}dead-letters-ticket-${each.key}"
  alarm_description   = "Dead letters grow (ticket). Messages used up their attempts, were rejected, or were put aside. Look at the groups of dead letters, repair the cause, then redrive them. Runbook: ${var.runbooks_url}/dead_letters"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 10
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 100, 0, value)"
    label       = "messages that became dead letters"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "dead"
  }

  metric_query {
    id = "dead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "dead"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "dead_letters_page" {
  for_each            = local.tasks
  alarm_name          = "${var.name_prefix}dead-letters-page-${each.key}"
  alarm_description   = "Dead letters grow (page). Messages used up their attempts, were rejected, or were put aside. Look at the groups of dead letters, repair the cause, then redrive them. Runbook: ${var.runbooks_url}/dead_letters"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 100
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "messages that became dead letters"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "dead"
  }

  metric_query {
    id = "dead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_messages_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        queue   = each.value.queue
        task    = each.value.task
        outcome = "dead"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "webhooks_failing_show" {
  alarm_name          = "${var.name_prefix}webhooks-failing-show"
  alarm_description   = "A webhook endpoint fails (show). A receiver of webhooks takes nothing. After five days it is disabled. Repair the receiver; what it missed is delivered then. Runbook: ${var.runbooks_url}/webhooks_failing"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.5
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "show", [])
  ok_actions          = lookup(var.alarm_actions, "show", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 1, value, 0)"
    label       = "attempts that failed, as a part of all; Tenure itself judges each endpoint: 1 from its first failure on"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(failed, 0) + FILL(given_up, 0) + FILL(delivered, 0)"
  }

  metric_query {
    id         = "value"
    expression = "(FILL(failed, 0) + FILL(given_up, 0)) / samples"
  }

  metric_query {
    id = "failed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_webhook_deliveries_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        result = "failed"
      }
    }
  }

  metric_query {
    id = "given_up"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_webhook_deliveries_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        result = "given_up"
      }
    }
  }

  metric_query {
    id = "delivered"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_webhook_deliveries_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        result = "delivered"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "webhooks_failing_ticket" {
  alarm_name          = "${var.name_prefix}webhooks-failing-ticket"
  alarm_description   = "A webhook endpoint fails (ticket). A receiver of webhooks takes nothing. After five days it is disabled. Repair the receiver; what it missed is delivered then. Runbook: ${var.runbooks_url}/webhooks_failing"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0.5
  evaluation_periods  = 4
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(samples >= 1, value, 0)"
    label       = "attempts that failed, as a part of all; Tenure itself judges each endpoint: 1 from its first failure on"
    return_data = true
  }

  metric_query {
    id         = "samples"
    expression = "FILL(failed, 0) + FILL(given_up, 0) + FILL(delivered, 0)"
  }

  metric_query {
    id         = "value"
    expression = "(FILL(failed, 0) + FILL(given_up, 0)) / samples"
  }

  metric_query {
    id = "failed"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_webhook_deliveries_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        result = "failed"
      }
    }
  }

  metric_query {
    id = "given_up"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_webhook_deliveries_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        result = "given_up"
      }
    }
  }

  metric_query {
    id = "delivered"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_webhook_deliveries_total"
      period      = 900
      stat        = "Sum"
      dimensions = {
        result = "delivered"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "webhook_disabled_ticket" {
  alarm_name          = "${var.name_prefix}webhook-disabled-ticket"
  alarm_description   = "A webhook endpoint was disabled (ticket). A receiver was gone or failed for five days. Its endings wait until it is enabled. Repair the receiver, then run: tenure webhooks endpoints enable NAME. Runbook: ${var.runbooks_url}/webhook_disabled"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "1 while it is disabled"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "disabled"
  }

  metric_query {
    id = "disabled"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_events_total"
      period      = 3600
      stat        = "Sum"
      dimensions = {
        kind = "webhook_disabled"
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "endings_untold_ticket" {
  alarm_name          = "${var.name_prefix}endings-untold-ticket"
  alarm_description   = "Endings are not announced (ticket). Messages ended, and the webhooks that they asked for were not made. Look whether an endpoint of them is disabled, and whether a worker or a server announces. Runbook: ${var.runbooks_url}/endings_untold"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 3600
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "age of the oldest ending that is not announced"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "oldest"
  }

  metric_query {
    id = "oldest"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_announcement_oldest_seconds"
      period      = 60
      stat        = "Maximum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "journal_behind_ticket" {
  alarm_name          = "${var.name_prefix}journal-behind-ticket"
  alarm_description   = "The journal is behind (ticket). Events wait in a worker because the journal does not take them. Beyond 20,000 the oldest are dropped. Look at the load of the store that keeps the journal. Runbook: ${var.runbooks_url}/journal_behind"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 2000
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 10000, 0, value)"
    label       = "events that a process could not write yet"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "waiting"
  }

  metric_query {
    id = "waiting"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_journal_waiting_events"
      period      = 60
      stat        = "Maximum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "journal_behind_page" {
  alarm_name          = "${var.name_prefix}journal-behind-page"
  alarm_description   = "The journal is behind (page). Events wait in a worker because the journal does not take them. Beyond 20,000 the oldest are dropped. Look at the load of the store that keeps the journal. Runbook: ${var.runbooks_url}/journal_behind"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 10000
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "page", [])
  ok_actions          = lookup(var.alarm_actions, "page", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "events that a process could not write yet"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "waiting"
  }

  metric_query {
    id = "waiting"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_journal_waiting_events"
      period      = 60
      stat        = "Maximum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "clock_skew_show" {
  alarm_name          = "${var.name_prefix}clock-skew-show"
  alarm_description   = "A machine's clock is wrong (show). The wall clock of a worker's machine differs from the store's. Leases do not use it; people and logs do. Synchronise the machine's clock (NTP). Runbook: ${var.runbooks_url}/clock_skew"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 2
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "show", [])
  ok_actions          = lookup(var.alarm_actions, "show", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "IF(value > 30, 0, value)"
    label       = "difference between a worker's wall clock and the store's"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "IF(ABS(ahead) > ABS(behind), ABS(ahead), ABS(behind))"
  }

  metric_query {
    id = "ahead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_clock_skew_seconds"
      period      = 60
      stat        = "Maximum"
    }
  }

  metric_query {
    id = "behind"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_clock_skew_seconds"
      period      = 60
      stat        = "Minimum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "clock_skew_ticket" {
  alarm_name          = "${var.name_prefix}clock-skew-ticket"
  alarm_description   = "A machine's clock is wrong (ticket). The wall clock of a worker's machine differs from the store's. Leases do not use it; people and logs do. Synchronise the machine's clock (NTP). Runbook: ${var.runbooks_url}/clock_skew"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 30
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = lookup(var.alarm_actions, "ticket", [])
  ok_actions          = lookup(var.alarm_actions, "ticket", [])
  tags                = var.tags

  metric_query {
    id          = "alarm"
    expression  = "value"
    label       = "difference between a worker's wall clock and the store's"
    return_data = true
  }

  metric_query {
    id         = "value"
    expression = "IF(ABS(ahead) > ABS(behind), ABS(ahead), ABS(behind))"
  }

  metric_query {
    id = "ahead"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_clock_skew_seconds"
      period      = 60
      stat        = "Maximum"
    }
  }

  metric_query {
    id = "behind"

    metric {
      namespace   = var.namespace
      metric_name = "tenure_clock_skew_seconds"
      period      = 60
      stat        = "Minimum"
    }
  }
}
