# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

resource "azurerm_log_analytics_query_pack" "tenure" {
  name                = "${var.name_prefix}queries"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = var.tags
}

resource "azurerm_log_analytics_query_pack_query" "processing_duration" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Processing duration by container"
  description    = "How long runs take, in milliseconds, for each five minutes. The mean is exact, over all runs. Percentiles are those of the slowest worker, right within 4 %. A container is a task."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customMetrics
    | where name in ("tenure.process.duration.count", "tenure.process.duration.sum", "tenure.process.duration.percentile")
    | extend container = tostring(customDimensions["tenure.task"]), percentile = tostring(customDimensions["tenure.percentile"])
    | summarize
        runs = sumif(valueSum, name == "tenure.process.duration.count"),
        seconds = sumif(valueSum, name == "tenure.process.duration.sum"),
        P50_ms = 1000 * maxif(valueSum, percentile == "50"),
        P95_ms = 1000 * maxif(valueSum, percentile == "95"),
        P99_ms = 1000 * maxif(valueSum, percentile == "99")
        by container, bin(timestamp, 5m)
    | extend Avg_ms = iff(runs > 0, 1000 * seconds / runs, real(null))
    | project timestamp, container, runs, Avg_ms, P50_ms, P95_ms, P99_ms
    | order by timestamp desc, container asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "processing_duration_of_messages" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Processing duration by container, from messages"
  description    = "The same over the whole time range, with the longest run, from the events of messages. Where --detail is below 1, each event counts for as many runs as it represents; a run that nearly used up its lease is always there and counts once."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customEvents
    | where name == "message_processed"
    | extend
        container = tostring(customDimensions.container),
        duration_ms = todouble(customDimensions.duration_ms),
        sampled = coalesce(todouble(customDimensions.sample_weight), 1.0)
    | extend weight = itemCount * iff(tostring(customDimensions.timeout_risk) == "HIGH", 1.0, sampled)
    | summarize
        runs = sum(weight),
        Avg = sum(duration_ms * weight) / sum(weight),
        P50 = percentilew(duration_ms, tolong(round(weight)), 50),
        P95 = percentilew(duration_ms, tolong(round(weight)), 95),
        P99 = percentilew(duration_ms, tolong(round(weight)), 99),
        Max = max(duration_ms)
        by container
    | order by container asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "timeout_risk" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Runs at risk, by container"
  description    = "Runs that ended with less than a fifth of their lease left. They are emitted for every message, without --detail."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customEvents
    | where name == "message_processed" and tostring(customDimensions.timeout_risk) == "HIGH"
    | summarize
        risk_count = sum(itemCount),
        affected_messages = dcount(tostring(customDimensions.message_id))
        by container = tostring(customDimensions.container)
    | order by risk_count desc, container asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "deletion_success" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Deletion success rate by queue"
  description    = "How deletes of finished messages ended, and the part that worked, in percent. A message that was already gone is no failure. Empty where nothing was deleted."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customMetrics
    | where name == "tenure.settlements"
    | extend queue = tostring(customDimensions["messaging.destination.name"]), result = tostring(customDimensions["tenure.result"])
    | where result in ("deleted", "already_gone", "unknown")
    | summarize
        total_deletions = sum(valueSum),
        successful = sumif(valueSum, result != "unknown"),
        failed = sumif(valueSum, result == "unknown")
        by queue
    | extend success_rate = iff(total_deletions > 0, 100.0 * successful / total_deletions, real(null))
    | order by queue asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "message_timeline" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Message processing timeline"
  description    = "When each message was received first, when its run and its delete ended, and how long that took, in milliseconds. --detail 1 has every message; with less, only those that were chosen."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customEvents
    | where name in ("message_received", "message_processed", "message_deleted")
    | extend message_id = tostring(customDimensions.message_id), container = tostring(customDimensions.container)
    | summarize
        received = minif(timestamp, name == "message_received"),
        processed = maxif(timestamp, name == "message_processed"),
        deleted = maxif(timestamp, name == "message_deleted"),
        runs = countif(name == "message_processed"),
        duration_ms = sumif(todouble(customDimensions.duration_ms), name == "message_processed")
        by message_id, container
    | extend total_time_ms = (deleted - received) / 1ms
    | order by received asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "duplicates" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Duplicates by container and hour"
  description    = "Messages that came again after they were done. They were recognised and deleted. Emitted for every one."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customEvents
    | where name == "duplicate_detected"
    | summarize
        duplicates_count = sum(itemCount),
        unique_messages = dcount(tostring(customDimensions.message_id))
        by container = tostring(customDimensions.container), bin(timestamp, 1h)
    | order by timestamp desc, container asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "duplicate_rate" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Duplicate detection rate by queue and hour"
  description    = "Duplicates as a part of completed messages and duplicates, in percent. The goal is 0; the alert pages above 5."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customMetrics
    | where name == "tenure.messages"
    | extend queue = tostring(customDimensions["messaging.destination.name"]), outcome = tostring(customDimensions["tenure.outcome"])
    | summarize
        duplicates = sumif(valueSum, outcome == "duplicate"),
        finished = sumif(valueSum, outcome in ("completed", "duplicate"))
        by queue, bin(timestamp, 1h)
    | extend duplicate_rate = iff(finished > 0, 100.0 * duplicates / finished, real(null))
    | order by timestamp desc, queue asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "timeout_utilization" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Visibility timeout utilization above 80 %"
  description    = "How much of its latest lease each run had used when it ended, in percent, of those above 80. A run whose heartbeat renews its lease is measured by the latest renewal. Emitted for every such run, without --detail."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customEvents
    | where name == "message_processed"
    | extend
        visibility_timeout = todouble(customDimensions.visibility_timeout),
        left_seconds = todouble(customDimensions.lease_left_seconds)
    | extend utilization_percent = 100.0 * (1.0 - left_seconds / visibility_timeout)
    | where utilization_percent > 80
    | summarize
        at_risk_count = sum(itemCount),
        max_utilization = max(utilization_percent),
        avg_utilization = avg(utilization_percent)
        by container = tostring(customDimensions.container)
    | order by max_utilization desc, container asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "deletion_success_by_hour" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Deletion success rate by queue and hour"
  description    = "The same as deletion-success, for each hour."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customMetrics
    | where name == "tenure.settlements"
    | extend queue = tostring(customDimensions["messaging.destination.name"]), result = tostring(customDimensions["tenure.result"])
    | where result in ("deleted", "already_gone", "unknown")
    | summarize
        total_deletions = sum(valueSum),
        successful = sumif(valueSum, result != "unknown"),
        failed = sumif(valueSum, result == "unknown")
        by queue, bin(timestamp, 1h)
    | extend success_rate = iff(total_deletions > 0, 100.0 * successful / total_deletions, real(null))
    | order by timestamp desc, queue asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "requeues" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Messages delivered again, by hour"
  description    = "Deliveries after the first one. max_dequeues 5 means five or more."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customMetrics
    | where name == "messaging.client.consumed.messages" and valueSum > 0
    | extend queue = tostring(customDimensions["messaging.destination.name"]), delivery = tostring(customDimensions["tenure.delivery"])
    | where delivery != "1"
    | summarize
        requeue_count = sum(valueSum),
        max_dequeues = max(toint(substring(delivery, 0, 1))),
        queues_affected = dcount(queue)
        by bin(timestamp, 1h)
    | order by timestamp desc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "deliveries" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Deliveries by their number and hour"
  description    = "How many messages were delivered for the first time, the second time, and so on. 5+ is five or more."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customMetrics
    | where name == "messaging.client.consumed.messages" and valueSum > 0
    | summarize messages = sum(valueSum) by dequeue_count = tostring(customDimensions["tenure.delivery"]), bin(timestamp, 1h)
    | order by timestamp desc, dequeue_count asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "redelivered_messages" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Which messages were delivered again"
  description    = "Emitted for every message whose earlier worker crashed or lost its lease. Retries of a failed handler: --detail 1 has every message; with less, only those that were chosen."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customEvents
    | where name == "message_received" and toint(customDimensions.dequeue_count) > 1
    | summarize last_received = max(timestamp), dequeue_count = max(toint(customDimensions.dequeue_count))
        by message_id = tostring(customDimensions.message_id), container = tostring(customDimensions.container)
    | order by dequeue_count desc, last_received desc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "deletion_failures" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Which deletes failed"
  description    = "Each delete that failed, with how often it was tried. Emitted for every one."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    customEvents
    | where name == "message_deletion" and tostring(customDimensions.result) == "failed"
    | project
        timestamp,
        message_id = tostring(customDimensions.message_id),
        container = tostring(customDimensions.container),
        retry_attempts = toint(customDimensions.retry_attempts),
        duration_ms = todouble(customDimensions.duration_ms)
    | order by timestamp desc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "failed_attempts" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: Attempts that failed, by task and reason"
  description    = "Log lines of attempts that failed: the reason, whether the message comes back, and the newest line. Works without --log-events."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    traces
    | where severityLevel >= 2 and isnotempty(tostring(customDimensions.code)) and isnotempty(tostring(customDimensions.next))
    | extend then = iff(severityLevel >= 3, "dead letter", "comes back")
    | summarize
        failures = sum(itemCount),
        messages = dcount(tostring(customDimensions.message_id)),
        arg_max(timestamp, message)
        by task = tostring(customDimensions.task), code = tostring(customDimensions.code), then
    | order by failures desc, task asc
  EOT
}

resource "azurerm_log_analytics_query_pack_query" "findings" {
  query_pack_id  = azurerm_log_analytics_query_pack.tenure.id
  display_name   = "Tenure: What Tenure found wrong"
  description    = "Alerts and detectors that Tenure judges itself, by its events or by its log lines, whichever are sent. Where both are, a finding is there twice."
  resource_types = ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"]
  body = <<-EOT
    union
        (traces | extend change = tostring(customDimensions.change)),
        (customEvents
        | where name in ("finding_fired", "finding_cleared")
        | extend change = iff(name == "finding_fired", "fired", "cleared"))
    | where change in ("fired", "rose", "cleared")
    | project
        timestamp,
        change,
        severity = tostring(customDimensions.severity),
        alert = tostring(customDimensions.alert),
        subject = tostring(customDimensions.subject),
        evidence = tostring(customDimensions.evidence)
    | order by timestamp desc
  EOT
}
