# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

variable "queues" {
  description = "The queues that are watched, each with the names of its tasks."
  type        = map(list(string))
}

variable "log_group_name" {
  description = "Where the JSON lines of workers and servers are."
  type        = string
}

variable "alarm_actions" {
  description = "By severity (page, ticket, show), the ARNs that are called, such as an SNS topic's. A severity without an entry has none."
  type        = map(list(string))
  default     = {}
}

variable "namespace" {
  description = "Where the metrics are."
  type        = string
  default     = "Tenure"
}

variable "name_prefix" {
  description = "What the names of all resources begin with."
  type        = string
  default     = "tenure-"
}

variable "runbooks_url" {
  description = "Where the runbooks are read: /runbooks of a tenure server."
  type        = string
  default     = "http://127.0.0.1:8383/runbooks"
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
