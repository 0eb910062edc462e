# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "store_away_page" {
  name                    = "${var.name_prefix}store-away-page"
  display_name            = "Tenure: The store is away (page)"
  description             = "Workers cannot reach the store. Work goes on as far as leases reach; nothing new is leased. Measured: 1 while it does not answer. Bring the store back; workers go on by themselves. Runbook: store_away."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.store.up"
      | summarize value = 1 - max(valueSum)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/store_away"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "workers_absent_page" {
  name                    = "${var.name_prefix}workers-absent-page"
  display_name            = "Tenure: No worker is alive (page)"
  description             = "Messages wait, and no worker is there to run them. Measured: messages that wait while no worker is alive. Start a worker. Runbook: workers_absent."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.worker.info"
      | summarize points = count()
      | project value = iff(points == 0, 1, 0)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/workers_absent"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "workers_crashing_ticket" {
  name                    = "${var.name_prefix}workers-crashing-ticket"
  display_name            = "Tenure: Workers die (ticket)"
  description             = "Workers ended without saying so: killed, out of memory, or crashed by a message. Measured: workers that died. Look at the memory and the exit codes of the workers. Runbook: workers_crashing."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.workers.crashed"
      | summarize value = sum(valueSum)
      | where not(value > 3)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/workers_crashing"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "workers_crashing_page" {
  name                    = "${var.name_prefix}workers-crashing-page"
  display_name            = "Tenure: Workers die (page)"
  description             = "Workers ended without saying so: killed, out of memory, or crashed by a message. Measured: workers that died. Look at the memory and the exit codes of the workers. Runbook: workers_crashing."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.workers.crashed"
      | summarize value = sum(valueSum)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 3

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/workers_crashing"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "sweep_late_ticket" {
  name                    = "${var.name_prefix}sweep-late-ticket"
  display_name            = "Tenure: No sweep runs (ticket)"
  description             = "Overdue leases are not returned: the messages of a worker that is gone stay where they are. Measured: time since the last sweep, in intervals. Start a worker or a server: each of them sweeps. Runbook: sweep_late."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name in ("tenure.sweep.age", "tenure.sweep.interval")
      | summarize age = minif(valueSum, name == "tenure.sweep.age"), interval = minif(valueSum, name == "tenure.sweep.interval")
      | project value = age / interval
      | where not(value > 24)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 6

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/sweep_late"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "sweep_late_page" {
  name                    = "${var.name_prefix}sweep-late-page"
  display_name            = "Tenure: No sweep runs (page)"
  description             = "Overdue leases are not returned: the messages of a worker that is gone stay where they are. Measured: time since the last sweep, in intervals. Start a worker or a server: each of them sweeps. Runbook: sweep_late."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name in ("tenure.sweep.age", "tenure.sweep.interval")
      | summarize age = minif(valueSum, name == "tenure.sweep.age"), interval = minif(valueSum, name == "tenure.sweep.interval")
      | project value = age / interval
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 24

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/sweep_late"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "heartbeats_failing_ticket" {
  name                    = "${var.name_prefix}heartbeats-failing-ticket"
  display_name            = "Tenure: Leases cannot be renewed (ticket)"
  description             = "Heartbeats of workers failed. A lease that is not renewed in time is lost, and its message runs again. Measured: leases whose renewal failed. Look at the connection between the workers and the store. Runbook: heartbeats_failing."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.heartbeat.failures"
      | summarize value = sum(valueSum)
      | where not(value > 50)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 2

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/heartbeats_failing"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "heartbeats_failing_page" {
  name                    = "${var.name_prefix}heartbeats-failing-page"
  display_name            = "Tenure: Leases cannot be renewed (page)"
  description             = "Heartbeats of workers failed. A lease that is not renewed in time is lost, and its message runs again. Measured: leases whose renewal failed. Look at the connection between the workers and the store. Runbook: heartbeats_failing."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.heartbeat.failures"
      | summarize value = sum(valueSum)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 50

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/heartbeats_failing"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "leases_lost_ticket" {
  name                    = "${var.name_prefix}leases-lost-ticket"
  display_name            = "Tenure: Leases are lost (ticket)"
  description             = "A worker lost the lease of a message that it was running: it was silent for longer than the lease. Measured: leases that were lost while the handler ran. Look at the worker that lost it: a blocked process, a suspended machine or a slow store. Runbook: leases_lost."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.lease.lost"
      | summarize value = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"])
      | where not(value > 10)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/leases_lost"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "leases_lost_page" {
  name                    = "${var.name_prefix}leases-lost-page"
  display_name            = "Tenure: Leases are lost (page)"
  description             = "A worker lost the lease of a message that it was running: it was silent for longer than the lease. Measured: leases that were lost while the handler ran. Look at the worker that lost it: a blocked process, a suspended machine or a slow store. Runbook: leases_lost."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.lease.lost"
      | summarize value = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"])
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 10

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/leases_lost"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "lease_use_ticket" {
  name                    = "${var.name_prefix}lease-use-ticket"
  display_name            = "Tenure: Runs use up their lease (ticket)"
  description             = "Runs whose lease is not renewed take nearly as long as it. One that takes longer is run again by another. Measured: p95 of the run times over the lease, of a task whose leases are not renewed. Switch the heartbeat on, or lengthen the lease by half. Runbook: lease_use."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name in ("tenure.lease.use", "tenure.lease.extensions", "tenure.process.duration.count")
      | summarize
          value = maxif(valueSum, name == "tenure.lease.use"),
          samples = sumif(valueSum, name == "tenure.process.duration.count"),
          renewed = sumif(valueSum, name == "tenure.lease.extensions")
          by queue = tostring(customDimensions["messaging.destination.name"]), task = tostring(customDimensions["tenure.task"])
      | where renewed == 0
      | project queue, task, value, samples
      | where samples >= 20
      | where not(value > 0.9 and samples >= 20)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.8

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    dimension {
      name     = "task"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/lease_use"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "lease_use_page" {
  name                    = "${var.name_prefix}lease-use-page"
  display_name            = "Tenure: Runs use up their lease (page)"
  description             = "Runs whose lease is not renewed take nearly as long as it. One that takes longer is run again by another. Measured: p95 of the run times over the lease, of a task whose leases are not renewed. Switch the heartbeat on, or lengthen the lease by half. Runbook: lease_use."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name in ("tenure.lease.use", "tenure.lease.extensions", "tenure.process.duration.count")
      | summarize
          value = maxif(valueSum, name == "tenure.lease.use"),
          samples = sumif(valueSum, name == "tenure.process.duration.count"),
          renewed = sumif(valueSum, name == "tenure.lease.extensions")
          by queue = tostring(customDimensions["messaging.destination.name"]), task = tostring(customDimensions["tenure.task"])
      | where renewed == 0
      | project queue, task, value, samples
      | where samples >= 20
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.9

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    dimension {
      name     = "task"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/lease_use"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "redelivered_ticket" {
  name                    = "${var.name_prefix}redelivered-ticket"
  display_name            = "Tenure: Messages are delivered again (ticket)"
  description             = "Messages came back because their lease had ended or their worker had died, not because a handler failed. Measured: messages that a sweep or a retirement returned, as a part of the deliveries of a queue. Look whether workers die, freeze, or are killed before they have finished. Runbook: redelivered."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      let delivered = customMetrics
      | where name == "messaging.client.consumed.messages"
      | summarize samples = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"]);
      customMetrics
      | where name == "tenure.lease.returned"
      | summarize returned = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"]), cause = tostring(customDimensions["tenure.cause"])
      | where cause != "operator"
      | join kind=inner (delivered) on queue
      | where samples > 0
      | project queue, cause, value = returned / samples, samples
      | where samples >= 100
      | where not(value > 0.1 and samples >= 100)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.02

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    dimension {
      name     = "cause"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/redelivered"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "redelivered_page" {
  name                    = "${var.name_prefix}redelivered-page"
  display_name            = "Tenure: Messages are delivered again (page)"
  description             = "Messages came back because their lease had ended or their worker had died, not because a handler failed. Measured: messages that a sweep or a retirement returned, as a part of the deliveries of a queue. Look whether workers die, freeze, or are killed before they have finished. Runbook: redelivered."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      let delivered = customMetrics
      | where name == "messaging.client.consumed.messages"
      | summarize samples = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"]);
      customMetrics
      | where name == "tenure.lease.returned"
      | summarize returned = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"]), cause = tostring(customDimensions["tenure.cause"])
      | where cause != "operator"
      | join kind=inner (delivered) on queue
      | where samples > 0
      | project queue, cause, value = returned / samples, samples
      | where samples >= 100
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.1

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    dimension {
      name     = "cause"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/redelivered"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "duplicates_show" {
  name                    = "${var.name_prefix}duplicates-show"
  display_name            = "Tenure: Finished messages come again (show)"
  description             = "Messages that were done already came again. They were recognised and deleted, so nothing was done twice. Measured: suppressed duplicates, as a part of the completed messages and duplicates of a queue. Look at the verdict on each duplicate, then lengthen the lease, repair the deletes or give sends an id. Runbook: duplicates."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 3
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.messages"
      | extend queue = tostring(customDimensions["messaging.destination.name"]), outcome = tostring(customDimensions["tenure.outcome"])
      | summarize part = sumif(valueSum, outcome == "duplicate"), samples = sumif(valueSum, outcome in ("completed", "duplicate")) by queue
      | where samples > 0
      | project queue, value = part / samples, samples
      | where not(value > 0.005 and samples >= 200)
      | where not(value > 0.05 and samples >= 200)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "show", [])
    custom_properties = {
      tenure_severity = "show"
      runbook_url     = "${var.runbooks_url}/duplicates"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "duplicates_ticket" {
  name                    = "${var.name_prefix}duplicates-ticket"
  display_name            = "Tenure: Finished messages come again (ticket)"
  description             = "Messages that were done already came again. They were recognised and deleted, so nothing was done twice. Measured: suppressed duplicates, as a part of the completed messages and duplicates of a queue. Look at the verdict on each duplicate, then lengthen the lease, repair the deletes or give sends an id. Runbook: duplicates."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.messages"
      | extend queue = tostring(customDimensions["messaging.destination.name"]), outcome = tostring(customDimensions["tenure.outcome"])
      | summarize part = sumif(valueSum, outcome == "duplicate"), samples = sumif(valueSum, outcome in ("completed", "duplicate")) by queue
      | where samples > 0
      | project queue, value = part / samples, samples
      | where samples >= 200
      | where not(value > 0.05 and samples >= 200)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.005

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/duplicates"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "duplicates_page" {
  name                    = "${var.name_prefix}duplicates-page"
  display_name            = "Tenure: Finished messages come again (page)"
  description             = "Messages that were done already came again. They were recognised and deleted, so nothing was done twice. Measured: suppressed duplicates, as a part of the completed messages and duplicates of a queue. Look at the verdict on each duplicate, then lengthen the lease, repair the deletes or give sends an id. Runbook: duplicates."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.messages"
      | extend queue = tostring(customDimensions["messaging.destination.name"]), outcome = tostring(customDimensions["tenure.outcome"])
      | summarize part = sumif(valueSum, outcome == "duplicate"), samples = sumif(valueSum, outcome in ("completed", "duplicate")) by queue
      | where samples > 0
      | project queue, value = part / samples, samples
      | where samples >= 200
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.05

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/duplicates"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "work_done_twice_ticket" {
  name                    = "${var.name_prefix}work-done-twice-ticket"
  display_name            = "Tenure: Work may have been done twice (ticket)"
  description             = "A handler ran to its end although its lease was over. Another worker may have run the message meanwhile. Measured: runs that ended after their lease was gone. Find out what froze the worker, and make the effect single with ctx.once. Runbook: work_done_twice."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.messages" and tostring(customDimensions["tenure.outcome"]) in ("late_settle")
      | summarize value = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"])
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/work_done_twice"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "deletion_failures_ticket" {
  name                    = "${var.name_prefix}deletion-failures-ticket"
  display_name            = "Tenure: Deletes of finished messages fail (ticket)"
  description             = "A finished message whose delete fails comes again. A message that was already gone is no failure. Measured: deletes with an unknown or refused end, as a part of all deletes of a queue. Check the rights of the worker and the connection to the broker. Runbook: deletion_failures."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.settlements"
      | extend queue = tostring(customDimensions["messaging.destination.name"]), result = tostring(customDimensions["tenure.result"])
      | summarize part = sumif(valueSum, result == "unknown"), samples = sumif(valueSum, result in ("deleted", "already_gone", "unknown")) by queue
      | where samples > 0
      | project queue, value = part / samples, samples
      | where samples >= 100
      | where not(value > 0.02 and samples >= 100)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.01

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/deletion_failures"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "deletion_failures_page" {
  name                    = "${var.name_prefix}deletion-failures-page"
  display_name            = "Tenure: Deletes of finished messages fail (page)"
  description             = "A finished message whose delete fails comes again. A message that was already gone is no failure. Measured: deletes with an unknown or refused end, as a part of all deletes of a queue. Check the rights of the worker and the connection to the broker. Runbook: deletion_failures."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT10M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.settlements"
      | extend queue = tostring(customDimensions["messaging.destination.name"]), result = tostring(customDimensions["tenure.result"])
      | summarize part = sumif(valueSum, result == "unknown"), samples = sumif(valueSum, result in ("deleted", "already_gone", "unknown")) by queue
      | where samples > 0
      | project queue, value = part / samples, samples
      | where samples >= 100
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.02

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/deletion_failures"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "dead_letters_show" {
  name                    = "${var.name_prefix}dead-letters-show"
  display_name            = "Tenure: Dead letters grow (show)"
  description             = "Messages used up their attempts, were rejected, or were put aside. Measured: messages that became dead letters. Look at the groups of dead letters, repair the cause, then redrive them. Runbook: dead_letters."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 3
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where (name == "tenure.messages" and tostring(customDimensions["tenure.outcome"]) == "dead")
          or (name == "tenure.lease.returned" and tostring(customDimensions["tenure.to"]) == "dead")
      | summarize value = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"])
      | where not(value > 10)
      | where not(value > 100)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "show", [])
    custom_properties = {
      tenure_severity = "show"
      runbook_url     = "${var.runbooks_url}/dead_letters"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "dead_letters_ticket" {
  name                    = "${var.name_prefix}dead-letters-ticket"
  display_name            = "Tenure: Dead letters grow (ticket)"
  description             = "Messages used up their attempts, were rejected, or were put aside. Measured: messages that became dead letters. Look at the groups of dead letters, repair the cause, then redrive them. Runbook: dead_letters."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where (name == "tenure.messages" and tostring(customDimensions["tenure.outcome"]) == "dead")
          or (name == "tenure.lease.returned" and tostring(customDimensions["tenure.to"]) == "dead")
      | summarize value = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"])
      | where not(value > 100)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 10

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/dead_letters"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "dead_letters_page" {
  name                    = "${var.name_prefix}dead-letters-page"
  display_name            = "Tenure: Dead letters grow (page)"
  description             = "Messages used up their attempts, were rejected, or were put aside. Measured: messages that became dead letters. Look at the groups of dead letters, repair the cause, then redrive them. Runbook: dead_letters."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where (name == "tenure.messages" and tostring(customDimensions["tenure.outcome"]) == "dead")
          or (name == "tenure.lease.returned" and tostring(customDimensions["tenure.to"]) == "dead")
      | summarize value = sum(valueSum) by queue = tostring(customDimensions["messaging.destination.name"])
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 100

    dimension {
      name     = "queue"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/dead_letters"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "webhooks_failing_show" {
  name                    = "${var.name_prefix}webhooks-failing-show"
  display_name            = "Tenure: A webhook endpoint fails (show)"
  description             = "A receiver of webhooks takes nothing. After five days it is disabled. Measured: attempts that failed, as a part of all; Tenure itself judges each endpoint: 1 from its first failure on. Repair the receiver; what it missed is delivered then. Runbook: webhooks_failing."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 3
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT15M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.webhook.deliveries"
      | extend result = tostring(customDimensions["tenure.result"])
      | summarize
          failed = sumif(valueSum, result in ("failed", "given_up")),
          attempts = sumif(valueSum, result in ("delivered", "failed", "given_up"))
      | where attempts > 0
      | project value = failed / attempts
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.5

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "show", [])
    custom_properties = {
      tenure_severity = "show"
      runbook_url     = "${var.runbooks_url}/webhooks_failing"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "webhooks_failing_ticket" {
  name                    = "${var.name_prefix}webhooks-failing-ticket"
  display_name            = "Tenure: A webhook endpoint fails (ticket)"
  description             = "A receiver of webhooks takes nothing. After five days it is disabled. Measured: attempts that failed, as a part of all; Tenure itself judges each endpoint: 1 from its first failure on. Repair the receiver; what it missed is delivered then. Runbook: webhooks_failing."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT1H"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.webhook.deliveries"
      | extend result = tostring(customDimensions["tenure.result"])
      | summarize
          failed = sumif(valueSum, result in ("failed", "given_up")),
          attempts = sumif(valueSum, result in ("delivered", "failed", "given_up"))
      | where attempts > 0
      | project value = failed / attempts
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0.5

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/webhooks_failing"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "webhook_disabled_ticket" {
  name                    = "${var.name_prefix}webhook-disabled-ticket"
  display_name            = "Tenure: A webhook endpoint was disabled (ticket)"
  description             = "A receiver was gone or failed for five days. Its endings wait until it is enabled. Measured: 1 while it is disabled. Repair the receiver, then run: tenure webhooks endpoints enable NAME. Runbook: webhook_disabled."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT1H"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.events" and tostring(customDimensions["tenure.kind"]) == "webhook_disabled"
      | summarize value = sum(valueSum)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/webhook_disabled"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "endings_untold_ticket" {
  name                    = "${var.name_prefix}endings-untold-ticket"
  display_name            = "Tenure: Endings are not announced (ticket)"
  description             = "Messages ended, and the webhooks that they asked for were not made. Measured: age of the oldest ending that is not announced. Look whether an endpoint of them is disabled, and whether a worker or a server announces. Runbook: endings_untold."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.announcements.oldest"
      | summarize value = max(valueSum)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 3600

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/endings_untold"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "journal_behind_ticket" {
  name                    = "${var.name_prefix}journal-behind-ticket"
  display_name            = "Tenure: The journal is behind (ticket)"
  description             = "Events wait in a worker because the journal does not take them. Beyond 20,000 the oldest are dropped. Measured: events that a process could not write yet. Look at the load of the store that keeps the journal. Runbook: journal_behind."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.journal.waiting"
      | summarize value = max(valueSum) by instance = cloud_RoleInstance
      | where not(value > 10000)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 2000

    dimension {
      name     = "instance"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/journal_behind"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "journal_behind_page" {
  name                    = "${var.name_prefix}journal-behind-page"
  display_name            = "Tenure: The journal is behind (page)"
  description             = "Events wait in a worker because the journal does not take them. Beyond 20,000 the oldest are dropped. Measured: events that a process could not write yet. Look at the load of the store that keeps the journal. Runbook: journal_behind."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.journal.waiting"
      | summarize value = max(valueSum) by instance = cloud_RoleInstance
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 10000

    dimension {
      name     = "instance"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
      runbook_url     = "${var.runbooks_url}/journal_behind"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "clock_skew_show" {
  name                    = "${var.name_prefix}clock-skew-show"
  display_name            = "Tenure: A machine's clock is wrong (show)"
  description             = "The wall clock of a worker's machine differs from the store's. Leases do not use it; people and logs do. Measured: difference between a worker's wall clock and the store's. Synchronise the machine's clock (NTP). Runbook: clock_skew."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 3
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.clock.skew"
      | summarize value = max(abs(valueSum)) by instance = cloud_RoleInstance
      | where not(value > 30)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 2

    dimension {
      name     = "instance"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "show", [])
    custom_properties = {
      tenure_severity = "show"
      runbook_url     = "${var.runbooks_url}/clock_skew"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "clock_skew_ticket" {
  name                    = "${var.name_prefix}clock-skew-ticket"
  display_name            = "Tenure: A machine's clock is wrong (ticket)"
  description             = "The wall clock of a worker's machine differs from the store's. Leases do not use it; people and logs do. Measured: difference between a worker's wall clock and the store's. Synchronise the machine's clock (NTP). Runbook: clock_skew."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = true
  tags                    = var.tags

  criteria {
    query = <<-EOT
      customMetrics
      | where name == "tenure.clock.skew"
      | summarize value = max(abs(valueSum)) by instance = cloud_RoleInstance
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 30

    dimension {
      name     = "instance"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
      runbook_url     = "${var.runbooks_url}/clock_skew"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "findings_page" {
  name                    = "${var.name_prefix}findings-page"
  display_name            = "Tenure: Tenure judged that something is wrong (page)"
  description             = "Alerts that only Tenure can judge, by its events or its log lines. Each has the runbook of its name."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 1
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = false
  tags                    = var.tags

  criteria {
    query = <<-EOT
      union
          (traces | where tostring(customDimensions.change) in ("fired", "rose")),
          (customEvents | where name == "finding_fired")
      | where tostring(customDimensions.severity) == "page"
      | extend alert = tostring(customDimensions.alert)
      | where alert in ("store_slow", "oldest_age")
      | summarize value = count() by alert, subject = tostring(customDimensions.subject)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    dimension {
      name     = "alert"
      operator = "Include"
      values   = ["*"]
    }

    dimension {
      name     = "subject"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "page", [])
    custom_properties = {
      tenure_severity = "page"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "findings_ticket" {
  name                    = "${var.name_prefix}findings-ticket"
  display_name            = "Tenure: Tenure judged that something is wrong (ticket)"
  description             = "Alerts that only Tenure can judge, by its events or its log lines. Each has the runbook of its name."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 2
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = false
  tags                    = var.tags

  criteria {
    query = <<-EOT
      union
          (traces | where tostring(customDimensions.change) in ("fired", "rose")),
          (customEvents | where name == "finding_fired")
      | where tostring(customDimensions.severity) == "ticket"
      | extend alert = tostring(customDimensions.alert)
      | where alert in ("store_slow", "queue_unserved", "oldest_age", "limit_starves", "queue_paused", "long_processing", "zombie")
      | summarize value = count() by alert, subject = tostring(customDimensions.subject)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    dimension {
      name     = "alert"
      operator = "Include"
      values   = ["*"]
    }

    dimension {
      name     = "subject"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "ticket", [])
    custom_properties = {
      tenure_severity = "ticket"
    }
  }
}

resource "azurerm_monitor_scheduled_query_rules_alert_v2" "findings_show" {
  name                    = "${var.name_prefix}findings-show"
  display_name            = "Tenure: Tenure judged that something is wrong (show)"
  description             = "Alerts that only Tenure can judge, by its events or its log lines. Each has the runbook of its name."
  resource_group_name     = var.resource_group_name
  location                = var.location
  scopes                  = [var.scope]
  severity                = 3
  evaluation_frequency    = var.evaluation_frequency
  window_duration         = "PT5M"
  auto_mitigation_enabled = false
  tags                    = var.tags

  criteria {
    query = <<-EOT
      union
          (traces | where tostring(customDimensions.change) in ("fired", "rose")),
          (customEvents | where name == "finding_fired")
      | where tostring(customDimensions.severity) == "show"
      | extend alert = tostring(customDimensions.alert)
      | where alert in ("long_processing", "near_dead_letters", "bulk_act", "queue_cleared", "dead_letter_movement")
      | summarize value = count() by alert, subject = tostring(customDimensions.subject)
    EOT
    time_aggregation_method = "Maximum"
    metric_measure_column   = "value"
    operator                = "GreaterThan"
    threshold               = 0

    dimension {
      name     = "alert"
      operator = "Include"
      values   = ["*"]
    }

    dimension {
      name     = "subject"
      operator = "Include"
      values   = ["*"]
    }

    failing_periods {
      minimum_failing_periods_to_trigger_alert = 1
      number_of_evaluation_periods             = 1
    }
  }

  action {
    action_groups = lookup(var.action_group_ids, "show", [])
    custom_properties = {
      tenure_severity = "show"
    }
  }
}
